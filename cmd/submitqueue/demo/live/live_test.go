package live

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestKeepLog(t *testing.T) {
	for _, test := range []struct {
		text   string
		failed bool
		want   bool
	}{
		{"level=INFO msg=listening\n", true, false},
		{"level=WARN msg=\"it is late\"\n", true, true},
		{"level=INFO msg=a\nlevel=ERROR msg=b\n", true, true},
		{"level=ERROR msg=b\n", false, false},
	} {
		path := filepath.Join(t.TempDir(), "server.log")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		kept, err := keepLog(path, test.failed)
		_, gone := os.Stat(path)
		if err != nil || kept != test.want || kept != (gone == nil) {
			t.Errorf("%+v: kept %v, %v, %v", test, kept, err, gone)
		}
	}
}

func TestRedKeys(t *testing.T) {
	entry := func(target string, tails ...string) *queue.Entry {
		e := &queue.Entry{Keys: []queue.Key{{Target: target}}}
		for _, tail := range tails {
			e.Failures = append(e.Failures, queue.Failure{Tail: tail})
		}
		return e
	}
	got := redKeys(map[queue.Digest]*queue.Entry{"1": entry("./a"), "2": entry("./b", "old.go:1: x", "FAIL\nb.go:7: no"), "3": entry("./c", "c.go:1: y")}, []string{"./a", "./b"})
	if len(got) != 2 || got[0] != "\n  ./a" || got[1] != "\n  ./b: b.go:7: no" {
		t.Errorf("%q", got)
	}
}
