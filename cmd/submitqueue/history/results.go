package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"github.com/submitqueue/submitqueue/queue"
)

// said is CI's result of a commit: a line of its results.
type said struct {
	Commit  queue.CommitID `json:"commit"`
	Outcome string         `json:"outcome"`
	Seconds float64        `json:"seconds"`
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// readResults reads CI's results: JSON lines of commit, outcome and seconds. Of several
// lines about one commit, a pass counts, else the last line: failures of a commit that
// also passed were flakes. Further members are ignored.
func readResults(from io.Reader) (map[queue.CommitID]said, error) {
	out := map[queue.CommitID]said{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var s said
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case !fullCommit.MatchString(string(s.Commit)):
			return nil, fmt.Errorf("line %d: commit is %q; it is a whole commit id", n, s.Commit)
		case s.Outcome != "passed" && s.Outcome != "failed":
			return nil, fmt.Errorf("line %d: outcome is %q; it can be passed or failed", n, s.Outcome)
		case !(s.Seconds >= 0 && s.Seconds < 1e7):
			return nil, fmt.Errorf("line %d: seconds is %v", n, s.Seconds)
		}
		if out[s.Commit].Outcome != "passed" || s.Outcome == "passed" {
			out[s.Commit] = s
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return out, nil
}
