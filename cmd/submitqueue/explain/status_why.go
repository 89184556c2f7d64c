package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// why prints why a change is where it is: what it waits for, why each of its
// builds was started, and what the queue expects of it.
func (p sheet) why(ch api.Change, notes []api.Note) {
	if ch.ID == "" {
		p.change(ch, nil)
		return
	}
	p.Text(Sentence(ch), "")
	p.Text(ch.Title, "  ")
	p.reasons(ch)
	p.next(ch.Next)
	live := map[string]bool{}
	for i, b := range ch.Builds {
		if i == 0 {
			fmt.Fprintln(p.Out, "\nBuilds under way")
		}
		live[b.ID] = true
		p.Hang("  "+print.Short(b.ID, 10)+"  ", b.Why)
		p.worth(b.Worth)
	}
	p.expects(ch.Outlook)
	head := "\nBuilds before, the latest first"
	for _, n := range notes {
		if n.What != "build-asked" || live[n.Build] {
			continue
		}
		if head != "" {
			fmt.Fprintln(p.Out, head)
			head = ""
		}
		p.Hang("  "+print.Short(n.Build, 10)+"  ", cmp.Or(n.Text, n.Title)+", "+p.Clock(n.At))
		p.worth(n.Worth)
	}
}

// next prints the numbers behind the plan's answer.
func (p sheet) next(n *api.Next) {
	if n == nil {
		return
	}
	var said []string
	switch {
	case n.Target && n.Threshold > 0:
		said = append(said, "its likeliest target is needed with a chance of "+texts.Percent(n.Value)+", and "+texts.Percent(n.Threshold)+" is asked for")
	case n.Value > 0 && n.Threshold > 0:
		said = append(said, "it is worth "+texts.Number(n.Value)+", and "+texts.Number(n.Threshold)+" is asked for")
	case n.Value > 0:
		said = append(said, "it is worth "+texts.Number(n.Value))
	}
	if n.Place > 0 {
		said = append(said, fmt.Sprintf("number %d of %d that could be started", n.Place, n.Rivals))
	}
	if n.Least > 0 {
		said = append(said, "the running build that is worth least is worth "+texts.Number(n.Least))
	}
	if len(said) > 0 {
		p.Text("Its next build: "+strings.Join(said, "; ")+".", "")
	}
}

// worth prints the parts of a build's value and what it assumes.
func (p sheet) worth(w *api.Worth) {
	if w == nil {
		return
	}
	const lead = "    "
	var factors []string
	for _, f := range w.Parts {
		factors = append(factors, texts.Number(f.Factor)+" ("+f.Text+")")
	}
	p.Hang(lead, "worth "+texts.Number(w.Value)+" = "+strings.Join(factors, " × "))
	if w.Rank > 0 {
		text := fmt.Sprintf("number %d of %d that could be started", w.Rank, w.Rivals)
		if w.Threshold > 0 {
			text += ", from a value of " + texts.Number(w.Threshold) + " on"
		}
		p.Hang(lead, fmt.Sprintf("%s; %d of %s were in use", text, w.Running, print.Counted(w.Slots, "slot")))
	}
	if w.Coverage != "" {
		p.Hang(lead, "verifies "+w.Coverage)
	}
	var said []string
	for _, a := range w.Assumes {
		outcome := " lands "
		if !a.Lands {
			outcome = " does not land "
		}
		said = append(said, p.changeName(a.Change)+outcome+texts.Percent(a.Chance))
	}
	if more := w.Lands + w.Fails - len(w.Assumes); more > 0 && len(said) > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	if len(said) > 0 {
		p.Hang(lead, "assumes "+strings.Join(said, ", "))
	}
	said = nil
	for _, n := range w.Least {
		said = append(said, n.Target+" "+texts.Percent(n.Chance))
	}
	if len(said) > 0 {
		p.Hang(lead, "needed least: "+strings.Join(said, ", "))
	}
}

// expects prints what the queue predicts of a change.
func (p sheet) expects(o *api.Outlook) {
	if o == nil {
		return
	}
	fmt.Fprintln(p.Out, "\nWhat the queue expects")
	const lead = "  "
	var said []string
	if o.Chance > 0 {
		said = append(said, "it lands with a chance of "+texts.Percent(o.Chance))
	}
	if o.Arrived > 0 {
		said = append(said, texts.Percent(o.Arrived)+" as predicted on arrival")
	}
	said = append(said, texts.Percent(o.Good)+" to be green on its own")
	if o.Targets > 0 {
		said = append(said, fmt.Sprintf("%d of %s have passed with it", o.Tested, print.Counted(o.Targets, "target")))
	}
	p.Hang(lead, strings.Join(said, ", "))
	for _, a := range o.Ahead {
		text := "ahead of it; lands " + texts.Percent(a.Chance)
		if !a.Ends.IsZero() {
			text += ", its verdict is expected at " + p.Clock(a.Ends)
		}
		if a.Red > 0 {
			text += ", red together with this one " + texts.Percent(a.Red)
		}
		p.Hang(lead+p.changeName(a.Change)+"  ", text)
	}
	said = nil
	for _, x := range o.Pairs {
		name := p.changeName(x.With)
		if x.Landed {
			name += " (landed)"
		}
		said = append(said, name+" "+texts.Percent(x.Chance))
	}
	if len(said) > 0 {
		p.Hang(lead, "it may be red together with "+strings.Join(said, ", "))
	}
	for _, d := range o.Doubts {
		p.Hang(lead, p.suspicion(d))
	}
	p.Hang(lead, texts.Percent(o.Trust.Accuracy)+" of the predictions have come true lately; so builds are started from a value of "+
		texts.Number(o.Trust.Threshold)+" on, and targets verified again from a chance of "+texts.Percent(o.Trust.Single)+" on")
}

func (p sheet) suspicion(d api.Suspect) string {
	text := "a build failed, and this change"
	if d.Pair != "" {
		text += " together with " + p.changeName(d.Pair)
	}
	text += " is to blame with a chance of " + texts.Percent(d.Chance)
	if len(d.Others) == 0 {
		return text
	}
	return text + "; otherwise " + p.changeNames(d.Others)
}

// changeName returns a change's number as people write it. The id begins with the number.
func (p sheet) changeName(id string) string {
	number, _, _ := strings.Cut(id, ".")
	return cmp.Or(p.mark, "#") + print.OneLine(number)
}
