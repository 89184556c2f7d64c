package texts

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// longDigests matches the digests at the end of analyzers' names, which are of no use to
// people.
var longDigests = regexp.MustCompile(` ?\b[0-9a-f]{64}\b`)

// analyzerName is the version of an analyzer for people.
func analyzerName(version string) string {
	version, tools := queue.SplitVersion(version)
	name := OneLine(longDigests.ReplaceAllString(version, ""), 80)
	switch {
	case name == "":
		return "of no name"
	case tools != "":
		name += " with tools " + string(digest.Of(tools)[:8])
	}
	return name
}

// Upgrade says how far a newer version of the analyzer is proven, in a sentence of
// plain text without its full stop; "" where none is being proven.
func (w Words) Upgrade(u *queue.UpgradeView) string {
	if u == nil {
		return ""
	}
	from, to := analyzerName(u.From), analyzerName(u.To)
	if from == to {
		to += " of the newer server"
	}
	switch {
	case u.Unknown != "":
		return fmt.Sprintf("Analyzer %s cannot compute the targets of %s; %s stays in force: %s", to, w.plain(queue.Change{}).main(), from, OneLine(u.Unknown, 200))
	case len(u.Red) > 0:
		names := make([]string, 0, 5)
		for _, n := range u.Red[:min(len(u.Red), 5)] {
			names = append(names, OneLine(n, 80))
		}
		more := ""
		if n := len(u.Red) - len(names); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return fmt.Sprintf("Analyzer %s is not in force: %s fails under it in %s%s; mend that, or start a server without that version. %s decides until then",
			to, w.plain(queue.Change{}).main(), strings.Join(names, ", "), more, from)
	case u.Hold != 0:
		return fmt.Sprintf("Landings wait until %s at the latest for the last of %s to be proven under analyzer %s: %d of %s; %s decides until then",
			u.Hold.Time().Format("15:04 UTC"), w.plain(queue.Change{}).main(), to, u.Proven, counted(u.Total, "check", "checks"), from)
	case u.Total == 0:
		return fmt.Sprintf("Analyzer %s is about to be proven in spare slots; %s decides until then", to, from)
	}
	return fmt.Sprintf("Analyzer %s is being proven in spare slots: %d of %s; %s decides until then", to, u.Proven, counted(u.Total, "check", "checks"), from)
}

// upgradeNote returns the words of a note on versions of the analyzer.
func upgradeNote(v voice, n queue.Note) (what, more string) {
	from, to := "", ""
	if names := n.Reason.Names; len(names) > 1 {
		from, to = analyzerName(names[0]), analyzerName(names[1])
	}
	switch n.What {
	case "upgrade-begun":
		what, more = "A newer version of the analyzer is being proven", to+" in spare slots; "+from+" decides until then"
	case "upgrade-unknown":
		what, more = "The newer version of the analyzer cannot compute the targets", to+": "+OneLine(n.Reason.Detail, 300)
	case "upgraded":
		what, more = "The newer version of the analyzer decides", to+" in the place of "+from+": all of "+v.main()+" has passed under it"
	default:
		what, more = "Another version of the analyzer decides", to+" in the place of "+from+", which this server does not know for the present settings"
	}
	if from == "" || len(n.Reason.Names) > 1 && n.Reason.Names[0] == "" {
		more = to
	}
	return what, more
}
