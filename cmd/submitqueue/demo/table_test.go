package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

func sampleRows() []Row {
	return []Row{
		{Number: 1, Title: "money: allocate amounts without losing a cent, everywhere", Author: "ada", Phase: queue.Pending, Reason: queue.ReasonWaitsBuild, Detail: "2 builds running, about 8 s left", Progress: 0.43},
		{Number: 2, Title: "docs: how we pack tea", Author: "barbara", Phase: queue.Landed, Detail: "nothing to verify", Progress: 1},
		{Number: 3, Title: "report: gross revenue", Author: "chen", Phase: queue.Rejected, Reason: queue.ReasonFailed, Detail: "test failed on ./report", Progress: 1},
		{Number: 4, Title: "evil \x1b[31mred\x07 \u202etxet\u2028 \xff\nnext", Author: "mal\tory", Phase: queue.Pending, Reason: queue.ReasonWaitsAhead, Detail: "waits for #1", Progress: 0.1},
		{Number: 5, Title: "日本語のタイトルはとても幅が広いのでここで切られるはずです", Author: "hanako", Phase: queue.Parked, Detail: "no runner"},
		{Number: 6, Title: "just opened", Author: "elif"},
		{Number: 7, Title: "refused", Author: "zoe", Detail: "needs write access"},
	}
}

// A number is written as its forge writes it.
func TestNumbersAsTheForgeWritesThem(t *testing.T) {
	rows := []Row{{Number: 7, Mark: "!", Title: "a"}, {Number: 8, Title: "b"}}
	if got := strings.Join(Table(rows, 0, Look{Width: 80, Height: 24}), "\n"); !strings.Contains(got, "!7 ") || !strings.Contains(got, "#8 ") || strings.Contains(got, "#7") {
		t.Errorf("the table is\n%s", got)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	for _, look := range []Look{{Width: 120, Height: 40}, {Width: 80, Height: 40}, {Width: 30, Height: 40}, {Width: 100, Height: 40, Color: true}, {Width: 100, Height: 7}, {Width: 5, Height: 2}} {
		fmt.Fprintf(&b, "== %+v\n", look)
		for _, line := range Table(sampleRows(), 83*time.Second, look) {
			b.WriteString(strings.ReplaceAll(line, "\x1b", "ESC") + "|\n")
		}
	}
	golden(t, "table.txt", b.String())
}

func TestTableFits(t *testing.T) {
	for w := 20; w < 200; w++ {
		for h := 4; h < 12; h++ {
			lines := Table(sampleRows(), time.Hour, Look{Width: w, Height: h})
			if len(lines) >= h {
				t.Fatalf("%d lines on a terminal of %d", len(lines), h)
			}
			for _, line := range lines {
				if n := print.Width(line); n >= max(21, w) {
					t.Fatalf("width %d: %d columns: %q", w, n, line)
				}
			}
		}
	}
}

func TestPlainScreenPrintsEachStateOnce(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, os.Getenv)
	rows := sampleRows()
	s.Show(rows, time.Time{}, time.Second)
	rows[0].Progress, rows[0].Detail = 0.9, "1 s left"
	s.Show(rows, time.Time{}, 2*time.Second)
	rows[0].Phase, rows[0].Reason, rows[0].Detail = queue.Landed, queue.ReasonLanded, ""
	s.Show(rows, time.Time{}, 75*time.Second)
	s.Note("Verifying 1 of 2", false)
	s.Note("Verifying 2 of 2", true)
	s.Keep()
	golden(t, "plain.txt", out.String())
}

func TestLiveScreenRedrawsInPlace(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, os.Getenv)
	s.look = func() Look { return Look{Width: 40, Height: 10} }
	rows := sampleRows()[:2]
	start := time.Unix(0, 0)
	s.Show(rows, start, 0)
	s.Show(rows, start.Add(50*time.Millisecond), 0) // too early
	s.Show(rows, start.Add(200*time.Millisecond), time.Second)
	s.Rows(rows[:1], start.Add(210*time.Millisecond), time.Second)
	s.Note("Verifying 1 of 2", false)
	s.Note("Verifying 2 of 2", true)
	golden(t, "live.txt", strings.ReplaceAll(out.String(), "\x1b", "ESC"))
}
