package golang_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	m.Run()
}
