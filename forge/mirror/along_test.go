package mirror_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// Branches move with main or not at all, each from where it is expected, and none
// is ever deleted or is main itself.
func TestPushAlong(t *testing.T) {
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	topic := r.commit("topic", "topic", files{"g": "1"}, base)
	late := r.commit("topic", "late", files{"g": "2"}, topic)
	m := r.fetched("topic")
	squash := pick(base, topic)
	squash.Squash = true
	landed := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{squash}))(t)[0].Commit
	head := func(branch string) queue.CommitID {
		return queue.CommitID(strings.TrimSpace(r.run("", "rev-parse", branch)))
	}
	push := func(main mirror.Move, others ...mirror.Move) mirror.PushOutcome {
		t.Helper()
		return must(m.Remotes.PushAlong(t.Context(), r.remote(), main, others))(t)
	}
	main := mirror.Move{Branch: "main", From: base, To: landed}
	for name, other := range map[string]mirror.Move{
		"somebody has pushed": {Branch: "topic", From: topic, To: landed},
		"it is gone":          {Branch: "none", From: topic, To: landed},
		"to nothing":          {Branch: "topic", From: late},
		"main itself":         {Branch: "main", From: base, To: landed},
		"no branch":           {Branch: "a:b", From: topic, To: landed},
	} {
		if got := push(main, other); got.Refused == "" || got.Moved || got.Lost {
			t.Errorf("%s: %+v", name, got)
		}
		if head("main") != base || head("topic") != late {
			t.Fatalf("%s: main is at %s, topic at %s", name, head("main"), head("topic"))
		}
	}
	r.point("topic", topic)
	moved := r.commit("main", "moved", files{"h": "h"}, base)
	if got := push(main, mirror.Move{Branch: "topic", From: topic, To: landed}); !got.Lost || head("topic") != topic || head("main") != moved {
		t.Errorf("main has moved: %+v", got)
	}
	r.point("main", base)
	for range 2 { // the second time its answer was lost
		if got := push(main, mirror.Move{Branch: "topic", From: topic, To: landed}); !got.Moved || head("topic") != landed || head("main") != landed {
			t.Errorf("%+v", got)
		}
	}
}
