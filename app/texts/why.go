package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Why returns what a build is for, in plain text that follows "Build asked for: ". old
// is the sentence that older versions have stored in place of data.
func (w Words) Why(x queue.Worth, old string) string {
	return w.plain(queue.Change{}).why(x, old)
}

func (v voice) why(x queue.Worth, old string) string {
	why := v.whyAlone(x, old)
	if len(x.With) > 0 && x.Kind != queue.WorthTogether {
		why += ", for " + v.refs(Strings(x.With))
	}
	return why
}

func (v voice) whyAlone(x queue.Worth, old string) string {
	switch x.Kind {
	case "":
		return oldWhy(old)
	case queue.WorthMain:
		return v.main() + " itself is not proven"
	case queue.WorthTrain:
		return "last check before it lands, on the commit that lands"
	case queue.WorthAlone:
		return "on " + v.main() + " as it is; nothing is ahead of it"
	case queue.WorthEarly:
		return "the last check before it lands, already while its own build ends"
	case queue.WorthTrial:
		return "beside the train, on its last commit: it probably fails on the whole tree"
	case queue.WorthProbe:
		return "alone, before it boards the train: others would be built again if it failed there"
	case queue.WorthTogether:
		return "as one merge of " + v.refs(Strings(x.With)) + sized(x)
	case queue.WorthLikeliest:
		return "on the likeliest future" + v.outcomes(x)
	case queue.WorthSample:
		return fmt.Sprintf("with %d of the %d undecided changes ahead: with all of them it would probably fail, and tell nothing", x.Lands, x.Lands+x.Fails)
	case queue.WorthFlip:
		return "in case " + v.flips(x)
	case queue.WorthLate:
		return "in case " + v.flips(x) + "; this build will probably end before that is known"
	case queue.WorthTry:
		return "only tried, in a slot that nobody else wants"
	case queue.WorthHunt:
		return "a commit of " + v.main() + " that may have turned it red"
	case queue.WorthRevert:
		return "what has turned " + v.main() + " red, taken back on " + v.main() + " as it is"
	case queue.WorthUpgrade:
		return v.main() + " under a newer version of the analyzer, in a slot that nobody else wants"
	case queue.WorthControl:
		return "what has failed with a change, on " + v.main() + " without it"
	case queue.WorthWatch:
		return v.main() + " itself, because that was proven long ago, in a slot that nobody else wants"
	case queue.WorthSpare:
		return "in case " + v.flips(x) + ", in a slot that nobody else wants"
	}
	return OneLine(string(x.Kind), 40) // of a newer version
}

// sized says why so many changes are built as one merge.
func sized(x queue.Worth) string {
	if x.PerLanding == 0 {
		return ""
	}
	return fmt.Sprintf(": all of them are good with a chance of %.0f %%, and so many take about %.2f builds for each that lands, splits counted; one by one it would be %.2f", 100*x.AllGood, x.PerLanding, x.OneByOne)
}

// outcomes says which changes land in the likeliest future.
func (w quote) outcomes(x queue.Worth) string {
	var lands []string
	for _, a := range x.Assumes {
		if a.Lands {
			lands = append(lands, string(a.Change))
		}
	}
	text := ""
	switch {
	case x.Lands == 0:
		text = ": none of those ahead lands"
	case x.Lands > len(lands) || len(lands) > 3:
		text = fmt.Sprintf(": %s ahead of it", counted(x.Lands, "change lands", "changes land"))
	case len(lands) == 1:
		text = ": " + w.refs(lands) + " lands first"
	default:
		text = ": " + w.refs(lands) + " land first"
	}
	if x.Fails > 0 && x.Lands > 0 {
		text += fmt.Sprintf(", and %d more probably not", x.Fails)
	}
	return text
}

// flips says in which outcomes a future differs from the likeliest one.
func (w quote) flips(x queue.Worth) string {
	var lands, not []string
	for _, a := range x.Flips() {
		if a.Lands {
			lands = append(lands, string(a.Change))
		} else {
			not = append(not, string(a.Change))
		}
	}
	var parts []string
	if len(lands) > 0 {
		parts = append(parts, w.refs(lands)+pick(len(lands), " lands", " land"))
	}
	if len(not) > 0 {
		parts = append(parts, w.refs(not)+pick(len(not), " does not land", " do not land"))
	}
	return orElse(strings.Join(parts, " and "), "another future comes")
}

func pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Part returns the meaning of one factor of a build's value, in a few words.
func (w Words) Part(x queue.Worth, p queue.PartName) string {
	switch p {
	case queue.PartFixed:
		return fixedPart(x.Kind)
	case queue.PartNeeded:
		if x.Kind == queue.WorthAlone {
			return "nothing is assumed"
		}
		return "chance that its results decide it"
	case queue.PartOdds:
		if x.Kind == queue.WorthLate {
			return "both outcomes are needed"
		}
		return "odds against the likeliest future"
	case queue.PartAging:
		if x.Aging == 1 {
			return "has not waited"
		}
		if x.Aging >= queue.MostAging {
			return "has waited " + Number(queue.MostAging-1) + " h or more"
		}
		return "has waited " + Number(x.Aging-1) + " h"
	case queue.PartLane:
		return "benefit of its lane"
	case queue.PartProject:
		return "benefit of its project"
	}
	return OneLine(string(p), 40)
}

// fixedPart says what the whole value of a build means, where that value does not come from
// a change's futures.
func fixedPart(kind queue.WorthKind) string {
	switch kind {
	case queue.WorthTrain, queue.WorthTrial:
		return "by its place on the train"
	case queue.WorthEarly:
		return "chance that it comes to land there"
	case queue.WorthProbe:
		return "chance that it fails there, for each that would follow it"
	case queue.WorthTogether:
		return "what all of them are worth"
	case queue.WorthHunt, queue.WorthRevert:
		return "before those of changes: the target branch is red"
	case queue.WorthUpgrade, queue.WorthTry, queue.WorthWatch:
		return "behind all others"
	}
	return "before all others"
}

// Covers returns what a build verifies of its change, in a few words.
func (w Words) Covers(c queue.Coverage) string {
	if c.All() == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s", c.Asked, counted(c.All(), "target", "targets"))
	var rest []string
	for _, x := range []struct {
		n    int
		what string
	}{{c.Passed, "passed before"}, {c.Shared, "in builds of others"}, {c.Left, "unlikely to be needed"}} {
		if x.n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	if len(rest) > 0 {
		text += " (" + strings.Join(rest, ", ") + ")"
	}
	return text
}
