package queue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

// Changes that are to land with a change are told apart from those that only
// share its builds; a change with a verdict has the partners that it had in
// fact.
func TestPartners(t *testing.T) {
	ids := func(list ...queue.ChangeID) []queue.ChangeID { return list }
	build := func(change queue.ChangeID, also ...queue.ChangeID) queue.BuildView {
		return queue.BuildView{Build: queue.Build{Change: change, Also: also}}
	}
	stopping := build("1.a", "2.b")
	stopping.Build.Cancel = true
	together := &queue.Verdict{Together: ids("2.b", "3.c")}
	for name, x := range map[string]struct {
		phase   queue.Phase
		verdict *queue.Verdict
		rollup  []queue.ChangeID
		builds  []queue.BuildView
		want    queue.Partners
	}{
		"alone":                {queue.Pending, nil, nil, []queue.BuildView{build("1.a")}, queue.Partners{}},
		"rollup, not built":    {queue.Pending, nil, ids("2.b"), nil, queue.Partners{Rollup: ids("2.b")}},
		"rollup, built":        {queue.Pending, nil, ids("2.b", "3.c"), []queue.BuildView{build("3.c", "1.a", "2.b")}, queue.Partners{Rollup: ids("2.b", "3.c")}},
		"rollup, being landed": {queue.Landing, nil, ids("2.b"), nil, queue.Partners{Rollup: ids("2.b")}},
		"shared":               {queue.Pending, nil, nil, []queue.BuildView{build("3.c", "1.a", "2.b"), build("1.a", "4.d", "3.c")}, queue.Partners{Shares: ids("2.b", "3.c", "4.d")}},
		"both":                 {queue.Pending, nil, ids("2.b"), []queue.BuildView{build("3.c", "1.a", "2.b")}, queue.Partners{Rollup: ids("2.b"), Shares: ids("3.c")}},
		"landed in one merge":  {queue.Landed, together, ids("9.z"), []queue.BuildView{build("1.a", "9.z")}, queue.Partners{Rollup: ids("2.b", "3.c")}},
		"landed alone":         {queue.Landed, &queue.Verdict{}, nil, []queue.BuildView{build("1.a", "9.z")}, queue.Partners{}},
		"rejected":             {queue.Rejected, together, ids("9.z"), []queue.BuildView{build("1.a", "9.z")}, queue.Partners{}},
		"cancelled":            {queue.Cancelled, nil, nil, nil, queue.Partners{}},
		"parked":               {queue.Parked, nil, nil, []queue.BuildView{build("3.c", "1.a")}, queue.Partners{}},
		"being stopped":        {queue.Pending, nil, nil, []queue.BuildView{stopping}, queue.Partners{}},
	} {
		got := queue.View{Change: queue.Change{ID: "1.a", Phase: x.phase, Ending: queue.Ending{Verdict: x.verdict}}, Rollup: x.rollup, Builds: x.builds}.Partners()
		if d := cmp.Diff(x.want, got); d != "" || got.None() != (len(x.want.Rollup)+len(x.want.Shares) == 0) {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
