package coordinator_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/coordinator"
)

var update = flag.Bool("update", false, "write what the server answers")

// Whole exchanges with the stock runner: testdata/exchanges has what its versions send, as
// its real processes were recorded (15.4.2, 17.9.3) or their source says (18.6.6), and what
// the server answers.
//
// A file is what happens, in order. METHOD PATH is a request of the runner with its head; of
// a piece of the trace the body is one quoted string a line, `again` sends all of it from
// 0, `twice` the last piece once more, `from N` the last piece as if it began there; of an
// artifact it is a name and its content. build, cancel and kill (of the server, which is
// asked for the build again) are what others do. answer and result are golden.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.txtar")
	if err != nil || len(files) < 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			x := &exchange{bench: newBench(t, func(o *coordinator.Options) { o.Hold = 50 * time.Millisecond })}
			x.runner = x.bench.runner()
			out := &txtar.Archive{Comment: a.Comment}
			for i, f := range a.Files {
				if f.Name == "answer" || f.Name == "result" && *update {
					continue
				}
				out.Files = append(out.Files, f)
				var got string
				switch {
				case f.Name == "build" || f.Name == "cancel" || f.Name == "kill":
					x.happen(f.Name)
					continue
				case f.Name == "result":
					got = x.ended()
				default:
					got = x.ask(f)
				}
				want := txtar.File{}
				if i+1 < len(a.Files) {
					want = a.Files[i+1]
				}
				if f.Name == "result" {
					want, out.Files = f, out.Files[:len(out.Files)-1]
				}
				if !*update && string(want.Data) != got {
					t.Fatalf("%d, %s: -update writes what it is now; the answer was\n%s\nand is\n%s", i, f.Name, want.Data, got)
				}
				name := "answer"
				if f.Name == "result" {
					name = "result"
				}
				out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got)})
			}
			if *update {
				out.Files = append(out.Files, txtar.File{Name: "result", Data: []byte(x.ended())})
				x.bench.must(os.WriteFile(path, txtar.Format(out), 0o644))
			}
		})
	}
}

// exchange is a runner that says what a file says.
type exchange struct {
	*runner
	bench *bench
	last  int    // where the last piece of the trace begins
	since string // X-GitLab-Last-Update
	asked bool
}

var exchanged = config.Step{Name: "unit", Run: "sh test.sh {targets}", Timeout: time.Minute, Report: config.ReportTargetsJSON, ReportFiles: []string{"out/*.jsonl"}}

func (x *exchange) happen(what string) {
	b := x.bench
	switch what {
	case "build":
		b.run("b1", exchanged, "a", "b")
		x.asked = true
	case "cancel":
		b.must(b.pool.Stop(b.t.Context(), "b1"))
		b.done("b1") // what the runner says behind that is not in the log
	case "kill":
		b.kill()
		if x.asked {
			b.run("b1", exchanged, "a", "b")
		}
	}
}

// ended is what has come of the build.
func (x *exchange) ended() string {
	if !x.asked {
		return "no build\n"
	}
	d := x.bench.done("b1")
	out := fmt.Sprintf("build: %s %s\n", d.Outcome, d.Detail)
	for _, j := range eventsOf[queue.JobDone](x.bench) {
		var failed []string
		for _, f := range j.Failed {
			failed = append(failed, f.Target)
		}
		out += fmt.Sprintf("step: %s passed %v failed %v on %s\n", j.Outcome, j.Passed, failed, j.Machine)
	}
	log := regexp.MustCompile(` (in|after) [0-9.]+[mµ]?s`).ReplaceAllString(x.bench.log("b1"), " $1 TIME")
	return x.plain(out + log)
}

// filled puts what is known by now into a text.
func (x *exchange) filled(s string) string {
	mark := ""
	if x.job.ID != 0 {
		mark = x.mark()
	}
	return strings.NewReplacer("{{RUNNER}}", x.token, "{{SHORT}}", x.token[5:14], "{{JOB}}", x.job.Token, "{{ID}}", strconv.FormatInt(x.job.ID, 10), "{{MARK}}", mark, "{{COMMIT}}", commit,
		"{{UPDATE}}", x.since, "{{CRC}}", fmt.Sprintf("%08x", crc32.ChecksumIEEE(x.sent)), "{{SIZE}}", strconv.Itoa(len(x.sent))).Replace(s)
}

// plain takes out again what is another one each time.
func (x *exchange) plain(s string) string {
	pairs := []string{x.token, "{{RUNNER}}", x.token[5:14], "{{SHORT}}", commit, "{{COMMIT}}"}
	if x.job.ID != 0 {
		pairs = append(pairs, x.job.Token, "{{JOB}}", strconv.FormatInt(x.job.ID, 10), "{{ID}}", x.mark(), "{{MARK}}")
	}
	if x.since != "" {
		pairs = append(pairs, x.since, "{{UPDATE}}")
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// ask sends a request, and returns the answer.
func (x *exchange) ask(f txtar.File) string {
	t := x.bench.t
	t.Helper()
	words := strings.Fields(f.Name)
	raw, body, _ := strings.Cut(string(f.Data), "\n\n")
	head := map[string]string{}
	for line := range strings.Lines(x.filled(raw)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("%s: %q is no header", f.Name, line)
		}
		head[name] = value
	}
	sent := []byte(x.filled(strings.TrimSuffix(body, "\n")))
	switch {
	case words[0] == "PATCH":
		from := len(x.sent)
		switch mode := words[2:]; {
		case len(mode) == 0:
			var piece strings.Builder
			for line := range strings.Lines(string(sent)) {
				s, err := strconv.Unquote(strings.TrimSpace(line))
				if err != nil {
					t.Fatalf("%s: %q: %v", f.Name, line, err)
				}
				piece.WriteString(s)
			}
			x.last, x.sent, sent = from, append(x.sent, piece.String()...), []byte(piece.String())
		case mode[0] == "again":
			from, sent = 0, x.sent
		case mode[0] == "twice":
			from, sent = x.last, x.sent[x.last:]
		case mode[0] == "from":
			var err error
			from, err = strconv.Atoi(mode[1])
			x.bench.must(err)
			sent = x.sent[x.last:]
		}
		head["Content-Range"] = fmt.Sprintf("%d-%d", from, from+len(sent)-1)
	case strings.Contains(words[1], "/artifacts"):
		name, content, _ := strings.Cut(string(sent), "\n")
		var form, archive bytes.Buffer
		z := zip.NewWriter(&archive)
		w, err := z.Create(name)
		x.bench.must(err)
		_, _ = w.Write([]byte(content + "\n"))
		x.bench.must(z.Close())
		m := multipart.NewWriter(&form)
		part, _ := m.CreateFormFile("file", "report.zip")
		_, _ = part.Write(archive.Bytes())
		x.bench.must(m.Close())
		head["Content-Type"], sent = m.FormDataContentType(), form.Bytes()
	}
	res, answer := x.send(t.Context(), words[0], x.filled(words[1]), head, sent)
	if res == nil {
		t.Fatalf("%s: no answer", f.Name)
	}
	if res.StatusCode == http.StatusCreated && strings.HasSuffix(words[1], "jobs/request") {
		x.sent = nil
		x.bench.must(json.Unmarshal(answer, &x.job))
	}
	if since := res.Header.Get("X-GitLab-Last-Update"); since != "" {
		x.since = since
	}
	return x.plain(shown(res, answer, strings.HasSuffix(x.bench.t.Name(), "/17.9")))
}

// shown is an answer, as far as runners read it; with the job that is handed out, if so.
func shown(res *http.Response, body []byte, job bool) string {
	out := fmt.Sprintf("%d\n", res.StatusCode)
	for _, name := range []string{"Content-Type", "Job-Status", "Range", "Retry-After", "X-Gitlab-Last-Update", "X-Gitlab-Trace-Update-Interval", "X-Request-Id"} {
		if v := res.Header.Get(name); v != "" {
			out += name + ": " + v + "\n"
		}
	}
	if len(body) == 0 {
		return out
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return out + "\n" + string(body) + "\n"
	}
	if m, ok := v.(map[string]any); ok && m["steps"] != nil {
		script := m["steps"].([]any)[0].(map[string]any)["script"].([]any)
		script[1] = "{{SCRIPT}}" // which TestScript runs
		var variables []any
		for _, v := range m["variables"].([]any) {
			if v := v.(map[string]any); v["key"] != "SUBMITQUEUE_SCRIPT" {
				variables = append(variables, fmt.Sprintf("%s=%s masked=%v file=%v", v["key"], v["value"], v["masked"] == true, v["file"] == true))
			}
		}
		m["variables"] = variables
		if !job {
			v = "a job, as in 17.9"
		}
	}
	var pretty bytes.Buffer
	e := json.NewEncoder(&pretty)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	_ = e.Encode(v)
	return out + "\n" + pretty.String()
}
