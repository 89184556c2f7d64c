package history_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/history"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// anyRow draws a row of any kind, with hostile texts.
func anyRow() *rapid.Generator[queue.Row] {
	text := rapid.SampledFrom([]string{"ann", "a/b:c", "\u2028", "<&>", "line\nbreak", "quote\"", "é"})
	texts := rapid.SliceOfN(text, 1, 3)
	id := rapid.Custom(func(t *rapid.T) queue.ChangeID {
		return queue.ChangeID(rapid.StringMatching(`[1-9]\.[a-f]{3}`).Draw(t, "id"))
	})
	moment := rapid.Custom(func(t *rapid.T) queue.Instant { return queue.Instant(rapid.Int64Range(1, 1<<45).Draw(t, "at")) })
	features := rapid.Custom(func(t *rapid.T) queue.Features {
		return queue.Features{text.Draw(t, "name"): rapid.Float64Range(-1e300, 1e300).Draw(t, "value")}
	})
	return rapid.Custom(func(t *rapid.T) queue.Row {
		r := queue.Row{At: moment.Draw(t, "at")}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			r.Arrival = &queue.ArrivalRow{Change: id.Draw(t, "id"), Number: 3, Author: text.Draw(t, "author"), Title: text.Draw(t, "title"), Head: "h",
				Arrival: moment.Draw(t, "arrival"), Paths: texts.Draw(t, "paths"), Targets: texts.Draw(t, "targets"), Affected: 7, Digest: "d",
				All: rapid.Bool().Draw(t, "all"), Features: features.Draw(t, "features"), Chance: rapid.Float64Range(0, 1).Draw(t, "chance"), Predicted: 9}
		case 1:
			r.Verdict = &queue.VerdictRow{Change: id.Draw(t, "id"), Author: text.Draw(t, "author"), Outcome: queue.Rejected, Reason: queue.ReasonFailed,
				Clashes: texts.Draw(t, "clashes"), Against: []queue.ChangeID{"1.a"}, Features: features.Draw(t, "features"),
				Failures: []queue.FailureRow{{Step: text.Draw(t, "step"), Targets: texts.Draw(t, "targets"), Main: "m", Chain: []queue.ChangeID{"1.a"}}}}
		case 2:
			r.Build = &queue.BuildRow{Build: "b", Change: id.Draw(t, "id"), Main: "m", Steps: []queue.StepRow{{Step: text.Draw(t, "step"), Targets: 2}},
				Asked: moment.Draw(t, "asked"), Started: moment.Draw(t, "started"), Outcome: queue.JobStopped, Value: rapid.Float64().Draw(t, "value")}
		case 3:
			r.Result = &queue.ResultRow{Build: "b", Step: text.Draw(t, "step"), Outcome: queue.JobPassed, Took: 5, Asked: 1,
				Targets: []queue.TargetRow{{Target: text.Draw(t, "target"), Outcome: queue.JobFailed, Took: 3}}}
		default:
			r.Main = &queue.MainRow{Commit: "c", Outside: rapid.Bool().Draw(t, "outside")}
		}
		return r
	})
}

func mustWrite(t interface{ Fatal(...any) }, rows []queue.Row) []byte {
	var out bytes.Buffer
	w, err := history.NewWriter(&out, "acme/shop@main", noon)
	for _, r := range rows {
		err = errors.Join(err, w.Write(r))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readAll(from io.Reader) (rows []queue.Row, r *history.Reader, err error) {
	if r, err = history.NewReader(from); err != nil {
		return nil, nil, err
	}
	for {
		row, err := r.Next()
		if err == io.EOF {
			return rows, r, nil
		}
		if err != nil {
			return rows, r, err
		}
		rows = append(rows, row)
	}
}

// Rows that were written are read again, packed or not; of a file cut off anywhere,
// all whole lines are read.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(anyRow(), 1, 8).Draw(t, "rows")
		raw := mustWrite(t, rows)
		got, r, err := readAll(bytes.NewReader(raw))
		if diff := cmp.Diff(rows, got); diff != "" || err != nil || r.Torn() || r.Header().Queue != "acme/shop@main" {
			t.Fatalf("%v, %s", err, diff)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(raw)
		z.Close()
		if got, _, err := readAll(&packed); err != nil || !cmp.Equal(rows, got) {
			t.Fatalf("packed: %v, %v", got, err)
		}
		head := bytes.IndexByte(raw, '\n') + 1
		cut := rapid.IntRange(head, len(raw)).Draw(t, "cut")
		whole := bytes.Count(raw[:cut], []byte("\n")) - 1
		got, r, err = readAll(bytes.NewReader(raw[:cut]))
		atEnd := cut == head || raw[cut-1] == '\n'
		if !atEnd && cut < len(raw) && raw[cut] == '\n' {
			whole++ // all but the line's end
			atEnd = true
		}
		if err != nil || len(got) != whole || r.Torn() == atEnd {
			t.Fatalf("cut at %d: %d rows of %d, torn %v, %v", cut, len(got), whole, r.Torn(), err)
		}
	})
}

// Hashing takes every name out, and leaves what rows have to do with one another.
func TestAnonymous(t *testing.T) {
	rows := []queue.Row{
		{At: 1, Arrival: &queue.ArrivalRow{Change: "1.a", Author: "SECRET", Title: "SECRET", Head: "SECRET", Arrival: 1, Paths: []string{"SECRET/x.go"},
			Targets: []string{"//SECRET/x:SECRET"}, Digest: "SECRET"}},
		{At: 2, Result: &queue.ResultRow{Build: "b", Step: "unit", Outcome: queue.JobFailed, Targets: []queue.TargetRow{{Target: "//SECRET/x:SECRET"}}}},
		{At: 3, Build: &queue.BuildRow{Build: "b", Main: "SECRET", Commit: "SECRET", Outcome: queue.JobFailed}},
		{At: 4, Verdict: &queue.VerdictRow{Change: "1.a", Author: "SECRET", Outcome: queue.Rejected, Commit: "SECRET", Clashes: []string{"SECRET"},
			Failures: []queue.FailureRow{{Step: "unit", Targets: []string{"//SECRET/x:SECRET"}, Main: "SECRET"}}}},
		{At: 5, Main: &queue.MainRow{Commit: "SECRET"}},
	}
	before := mustWrite(t, rows)
	a, b := history.NewAnonymous([]byte("salt")), history.NewAnonymous([]byte("other"))
	var hashed []queue.Row
	for _, r := range rows {
		hashed = append(hashed, a.Row(r))
	}
	text := string(mustWrite(t, hashed))
	if strings.Contains(text, "SECRET") || !bytes.Equal(before, mustWrite(t, rows)) {
		t.Errorf("a name is left, or the rows given were changed: %s", text)
	}
	target := hashed[0].Arrival.Targets[0]
	if target != hashed[1].Result.Targets[0].Target || target != hashed[3].Verdict.Failures[0].Targets[0] || !strings.HasSuffix(hashed[0].Arrival.Paths[0], ".go") {
		t.Errorf("%q has other names elsewhere, or the path %q no ending", target, hashed[0].Arrival.Paths[0])
	}
	if b.Row(rows[0]).Arrival.Author == hashed[0].Arrival.Author {
		t.Error("another salt gives the same hash")
	}
}

func TestReaderRefuses(t *testing.T) {
	const header = `{"history":1}` + "\n"
	for _, c := range []struct{ text, want string }{
		{"", "line 1: the history is empty"},
		{"{}\n", "line 1: this is no history"},
		{`{"history":`, "line 1: it ends in the middle of its header"},
		{`{"hist`, "line 1: it ends in the middle of its header"},
		{"just text", "line 1: this is no history"}, // and not one whose writer was killed
		{`{"version": 1,`, "line 1: this is no history"},
		{`{"history":2}` + "\n", "line 1: format 2 of histories; only 1"},
		{header + "\n[]\n", "line 3: json: cannot unmarshal array"},
		{header + "{\n", "line 2: unexpected end of JSON"},
		{header + `{"at":1,"main":{}}` + "\n", "line 2: a commit of main has commit"},
		{header + `{"main":{"commit":"c"}}` + "\n", "line 2: a row has its moment"},
		{header + `{"at":1,"main":{"commit":"c"},"result":{}}` + "\n", "line 2: a row is of one kind"},
		{header + `{"at":1,"verdict":{"change":"c","outcome":"tried"}}` + "\n", "line 2: a verdict has change and outcome"},
		{header + `{"at":1,"arrival":{"change":7}}` + "\n", "line 2: json: cannot unmarshal number"},
		{header + `{"history":3}` + "\n", "line 2: format 3"},
	} {
		if _, _, err := readAll(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
	rows, r, err := readAll(strings.NewReader(header + `{"at":1,"later":{}}` + "\n" + header + `{"at":1,"main":{"commit":"c","new":[1]}}` + "\n"))
	if err != nil || len(rows) != 1 || r.Unknown() != 1 {
		t.Errorf("of a newer version: %v, %d unknown, %v", rows, r.Unknown(), err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"history":1}` + "\n" + `{"at":1,"main":{"commit":"c"}}`))
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte(`{"history":1}` + "\n" + `{"at":1,"arrival":{"change":"c","arrival":2},"x":`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rows, _, err := readAll(bytes.NewReader(raw))
		if err != nil && !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("an error names no line: %v", err)
		}
		for _, r := range rows {
			if r.Check() != nil || r.Kind() == "" {
				t.Errorf("a row that is none was read: %+v", r)
			}
		}
		if again, _, err := readAll(bytes.NewReader(mustWrite(t, rows))); err != nil || !cmp.Equal(rows, again) {
			t.Errorf("what was read is written otherwise: %v", err)
		}
	})
}

func main(commit string, at time.Time) queue.Row {
	return queue.Row{At: queue.At(at), Main: &queue.MainRow{Commit: queue.CommitID(commit)}}
}

// A folder has a file for each day; one that was torn is gone on with, and old ones go.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	const name = "acme/shop@main"
	appendTo := func(at time.Time, commits ...string) {
		t.Helper()
		f, err := history.OpenFolder(dir, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commits {
			if err := f.Append(name, at, []queue.Row{main(c, at)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	commits := func() (out string, torn int) {
		t.Helper()
		l, err := history.Load(dir)
		if err != nil || l.Queue != name {
			t.Fatal(l, err)
		}
		for _, r := range l.Rows {
			out += string(r.Main.Commit)
		}
		return out, len(l.Torn)
	}
	appendTo(noon, "a", "b")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "2026-03-01.jsonl"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"at":12,"main":{"com`)
	f.Close()
	if got, torn := commits(); got != "ab" || torn != 1 {
		t.Errorf("with a torn line: %s, %d torn", got, torn)
	}
	appendTo(noon, "c")
	appendTo(noon.Add(24*time.Hour), "d")
	if got, torn := commits(); got != "abcd" || torn != 0 {
		t.Errorf("after it was gone on with: %s, %d torn", got, torn)
	}
	appendTo(noon.Add(72*time.Hour), "e")
	if got, _ := commits(); got != "de" {
		t.Errorf("after two days more: %s", got)
	}
	if _, err := history.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no history in it") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := history.Load(filepath.Join(t.TempDir(), "history.jsonl")); err == nil || !strings.Contains(err.Error(), "there is no such file or folder") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Of what is said twice the later counts.
func TestTidy(t *testing.T) {
	verdict := func(at queue.Instant, p queue.Phase) queue.Row {
		return queue.Row{At: at, Verdict: &queue.VerdictRow{Change: "1.a", Outcome: p}}
	}
	got := history.Tidy([]queue.Row{verdict(9, queue.Landed), main("m", noon), verdict(3, queue.Rejected), main("m", noon)})
	if want := []queue.Row{verdict(9, queue.Landed), main("m", noon)}; !cmp.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// An old file that cannot be removed costs no rows of the day, and keeps no other old file.
func TestFolderKeepsRowsWhatCannotBeRemoved(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	of := filepath.Join(dir, "q")
	for _, name := range []string{"2025-01-01/kept", "2025-01-02.jsonl"} { // the first is a folder that somebody has made
		if err := os.MkdirAll(filepath.Dir(filepath.Join(of, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(of, name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := history.OpenFolder(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := queue.Row{At: queue.At(now), Main: &queue.MainRow{Commit: "c1"}}
	if err := f.Append("q", now, []queue.Row{row}); !errors.Is(err, history.ErrOld) {
		t.Errorf("%v; want that an old file stays", err)
	}
	text, err := os.ReadFile(filepath.Join(of, "2026-05-01.jsonl"))
	if err != nil || !strings.Contains(string(text), `"c1"`) {
		t.Errorf("%q %v: the row is not in it", text, err)
	}
	if _, err := os.Stat(filepath.Join(of, "2025-01-02.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the other old file stays: %v", err)
	}
}

// A step of a build may be run in shards on several runners, in two jobs where some of its
// targets are in quarantine, and several times for what is new. Each of these has a row, and none
// of them says the same thing as another.
func TestTidyKeepsAllRunsOfAStep(t *testing.T) {
	keys := func(targets ...string) (list []queue.Key) {
		for _, x := range targets {
			list = append(list, queue.Key{Step: "s", Target: x, Hash: "h"})
		}
		return list
	}
	job := func(repeat int, targets ...string) queue.Row {
		j := &queue.Job{Step: config.Step{Name: "unit", Report: config.ReportGoTestJSON, Scope: config.ScopeTargets, Repeat: repeat}, Keys: keys(targets...)}
		return queue.Row{At: 1, Result: queue.NewResultRow(j, queue.JobDone{Build: "b", Outcome: queue.JobPassed, Passed: targets, Took: time.Minute}, false, false)}
	}
	rows := []queue.Row{job(0, "a", "b"), job(0, "c", "d"), job(1, "a", "b"), job(2, "a", "b")}
	if got := history.Tidy(append(rows, rows...)); !cmp.Equal(got, rows) {
		t.Errorf("of %d results, told twice, %d are left", len(rows), len(got))
	}
}

// On a full disk a day's file is begun, and its first line is not written, or half of it. Once
// there is room again, on a later day, all other rows of the folder can be read.
func TestLoadWithADayThatWasOnlyBegun(t *testing.T) {
	for _, begun := range []string{"", `{"history":1,"que`} {
		dir := t.TempDir()
		f, err := history.OpenFolder(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		row := queue.Row{At: queue.At(noon), Main: &queue.MainRow{Commit: "c"}}
		if err := errors.Join(f.Append("q", noon, []queue.Row{row}), f.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "q", "2026-03-02.jsonl"), []byte(begun), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := history.Load(filepath.Join(dir, "q"))
		if err != nil || len(l.Rows) != 1 || len(l.Torn) != 1 || l.Queue != "q" {
			t.Errorf("begun with %q: %+v, %v", begun, l, err)
		}
	}
}

// Old files go before the file of a day is made: on a full disk that is what makes room for it.
func TestOldFilesGoBeforeADayIsBegun(t *testing.T) {
	dir := t.TempDir()
	f, err := history.OpenFolder(dir, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := filepath.Join(dir, "q", "2026-01-01.jsonl")
	// In the place of the new file is a folder: it cannot be made, as on a full disk.
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "q", "2026-03-01.jsonl"), 0o700), os.WriteFile(old, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	err = f.Append("q", noon, []queue.Row{{At: queue.At(noon), Main: &queue.MainRow{Commit: "c"}}})
	if _, gone := os.Stat(old); err == nil || !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("%v; the old file: %v", err, gone)
	}
}

// A name that is all ending, such as that of a hidden folder, is a name.
func TestAnonymousHidesHiddenNames(t *testing.T) {
	hide := history.NewAnonymous([]byte("salt"))
	for _, secret := range []string{".acme", ".acme/deploy.sh", "apps/.merge/x"} {
		r := hide.Row(queue.Row{At: 1, Arrival: &queue.ArrivalRow{Change: "1.a", Arrival: 1, Paths: []string{secret}}})
		if got := r.Arrival.Paths[0]; strings.Contains(got, "acme") || strings.Contains(got, "merge") {
			t.Errorf("%s is shown as %s", secret, got)
		}
	}
}
