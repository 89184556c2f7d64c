package mirror_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	storetest.Sample(12)
	storetest.AtOnce(8)
	m.Run()
}
