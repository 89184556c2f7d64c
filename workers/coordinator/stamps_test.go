package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// gitlab-runner 18.7 and newer begins each line of a trace with a time (FF_TIMESTAMPS is on by
// default there). Jobs ask it not to, and a trace of a runner that does so all the same can be
// read. A line of the report that comes in two parts is one line, also if a line of the other stream
// comes between them.
func TestTraceWithTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", config.Step{Name: "unit", Run: "go test -json {targets}", Report: config.ReportGoTestJSON, Timeout: time.Minute}, "./cart", "./web")
	job := r.ask()
	off := false
	for _, v := range job.Variables {
		off = off || v.Key == "FF_TIMESTAMPS" && v.Value == "false"
	}
	if !off {
		t.Error("the job does not ask for a trace without times")
	}
	say := func(kind, line string) {
		r.print(fmt.Sprintf("2026-02-03T12:43:46.%06dZ %s%s\n", len(r.sent), kind, line))
	}
	say("00O ", "Running with gitlab-runner 18.7.0\x1b[0;m")
	say("01O ", r.mark()+" begin "+commit)
	say("01E ", "go: finding example.com/x v1.0.0")
	say("01O ", `{"Action":"pass",`+strings.Repeat(" ", 8<<10)+`"Package":"example.com/sh`) // gitlab-runner has no larger buffer
	say("01E ", "go: downloading example.com/x v1.0.0")
	say("01O+", `op/cart","Elapsed":2}`)
	say("01O ", `{"Action":"output","Package":"example.com/shop/web","Output":"--- FAIL: TestX\n"}`)
	say("01O ", `{"Action":"fail","Package":"example.com/shop/web","Elapsed":1}`)
	say("01O ", r.mark()+" end 1 3")
	r.end(1)
	j, d := b.result("b1")
	if j.Outcome != queue.JobFailed || len(j.Failed) != 1 || j.Failed[0].Target != "./web" || len(j.Passed) != 1 {
		t.Errorf("%+v %+v", j, d)
	}
	if log := b.log("b1"); strings.Contains(log, "2026-02-03T") || !strings.Contains(log, "\ngo: downloading") || strings.Contains(log, r.mark()) {
		t.Errorf("%s", log)
	}
}

// A step may print lines that look so; they stay as they are where the runner adds no times.
func TestTimesOfTheStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner()
	b.join(r)
	b.run("b1", unit, "a")
	r.ask()
	r.begin()
	r.print("2026-02-03T12:43:46.000001Z 01O said by the step\n" + r.mark() + " end 0\n")
	r.end(0)
	if j, _ := b.result("b1"); j.Outcome != queue.JobPassed || !strings.Contains(b.log("b1"), "2026-02-03T12:43:46.000001Z 01O said") {
		t.Errorf("%+v\n%s", j, b.log("b1"))
	}
}
