package app_test

import (
	"runtime/debug"
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	storetest.AtOnce(16)
	debug.SetGCPercent(800) // a small heap with much garbage: a fifth of the time goes to collecting it
	m.Run()
}
