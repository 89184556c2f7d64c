package coordinator_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	storetest.AtOnce(8)
	m.Run()
}
