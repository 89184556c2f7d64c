package bench

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	storetest.AtOnce(6)
	m.Run()
}
