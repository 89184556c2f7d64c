package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A line of the report that comes in two parts is one line, also if a line of the other stream
// comes between them.
func TestTraceWithTimesOfTwoStreams(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", config.Step{Name: "unit", Run: "go test -json {targets}", Report: config.ReportGoTestJSON, Timeout: time.Minute}, "./cart", "./web")
	r.ask()
	say := func(kind, line string) {
		r.print(fmt.Sprintf("2026-02-03T12:43:46.%06dZ %s%s\n", len(r.sent), kind, line))
	}
	say("00O ", "Running with gitlab-runner 18.7.0\x1b[0;m")
	say("01O ", r.mark()+" begin "+commit)
	say("01O ", `{"Action":"pass",`+strings.Repeat(" ", 8<<10)+`"Package":"example.com/sh`) // gitlab-runner has no larger buffer
	say("01E ", "go: downloading example.com/x v1.0.0")
	say("01O+", `op/cart","Elapsed":2}`)
	say("01O ", `{"Action":"pass","Package":"example.com/shop/web","Elapsed":1}`)
	say("01O ", r.mark()+" end 0 3")
	r.end(0)
	j, d := b.result("b1")
	if j.Outcome != queue.JobPassed || len(j.Passed) != 2 {
		t.Errorf("%+v %+v\n%s", j, d, b.log("b1"))
	}
}
