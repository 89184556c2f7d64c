//go:build unix

package chaos

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kind is the result of a change that is built alone and with others.
type kind int

const (
	sound kind = iota // passes with everything
	bad               // fails
	half              // passes, but not with its other half
	clash             // passes, but does not merge with others of its area
)

// change is a branch that an author makes and asks to land.
type change struct {
	kind   kind
	branch string
	area   string
	asked  []string // heads at which the author asked to land it
	number int      // of its request; 0: no server has taken one yet
	moves  bool     // its author pushes once more
}

// world is the repository. One goroutine uses it.
type world struct {
	dir     string // bare
	rand    *rand.Rand
	changes []*change
	halves  []*change // wait to be made
}

var areas = []string{"api", "cart", "docs", "mail", "shop", "web"}

// files of main where it begins. The test fails on a bad file, and on two halves.
var files = map[string]string{
	".submitqueue.yml": "version: 1\nqueue: {infra_retries: 10}\nsteps:\n  - {name: unit, run: 'sh test.sh {targets}', timeout: 1m}\n" +
		"analysis:\n  analyzer: paths\n  areas:\n" + areaLines(),
	"test.sh": `sleep 0.2
for t in "$@"; do
  for f in "$t"/bad-*; do test ! -e "$f" || { echo "$f is bad"; exit 1; }; done
  for f in "$t"/left-*; do
    test ! -e "$f" || test ! -e "$t/right-${f#"$t"/left-}" || { echo "$f does not go with its other half"; exit 1; }
  done
done
`,
}

func areaLines() string {
	var b strings.Builder
	for _, a := range areas {
		fmt.Fprintf(&b, "    - {name: %s, files: ['%s/**']}\n", a, a)
	}
	return b.String()
}

// green reports whether the test passes on a tree.
func green(names []string) bool {
	for _, name := range names {
		area, base := filepath.Split(name)
		if strings.HasPrefix(base, "bad-") {
			return false
		}
		if n, ok := strings.CutPrefix(base, "left-"); ok && slices.Contains(names, area+"right-"+n) {
			return false
		}
	}
	return true
}

// newWorld makes the repository.
func newWorld(ctx context.Context, dir string, r *rand.Rand) (*world, error) {
	w := &world{dir: dir, rand: r}
	if _, err := w.git(ctx, "", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir); err != nil {
		return nil, err
	}
	add := map[string]string{}
	for name, text := range files {
		add[name] = text
	}
	for _, a := range areas {
		add[a+"/readme"] = "what " + a + " is\n"
	}
	_, err := w.commit(ctx, made{"main", "", "The first commit", add})
	return w, err
}

// made is a commit to make.
type made struct {
	branch, from, message string // from "": on top of the branch
	add                   map[string]string
}

// commit makes a commit on a branch, on top of another commit or of the branch itself.
func (w *world) commit(ctx context.Context, c made) (string, error) {
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Ann <ann@localhost> 1700000000 +0000\ndata %d\n%s\n", c.branch, len(c.message), c.message)
	if c.from != "" {
		fmt.Fprintf(&in, "from %s\n", c.from)
	}
	for name, text := range c.add {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	if _, err := w.git(ctx, in.String(), "-C", w.dir, "fast-import", "--quiet", "--force"); err != nil {
		return "", err
	}
	return w.git(ctx, "", "-C", w.dir, "rev-parse", "refs/heads/"+c.branch)
}

// next makes the next change, on main as it is.
func (w *world) next(ctx context.Context) (*change, error) {
	main, err := w.git(ctx, "", "-C", w.dir, "rev-parse", "refs/heads/main")
	if err != nil {
		return nil, err
	}
	n := len(w.changes)
	c := &change{branch: fmt.Sprintf("change-%04d", n), area: areas[w.rand.IntN(len(areas))], moves: w.rand.IntN(12) == 0}
	name := fmt.Sprintf("%s/sound-%d", c.area, n)
	switch roll := w.rand.IntN(100); {
	case len(w.halves) > 0 && roll < 50:
		first := w.halves[0]
		w.halves = w.halves[1:]
		c.kind, c.area = half, first.area
		name = fmt.Sprintf("%s/right-%s", c.area, strings.TrimPrefix(first.branch, "change-"))
	case roll < 60:
	case roll < 70:
		c.kind, name = bad, fmt.Sprintf("%s/bad-%d", c.area, n)
	case roll < 85:
		c.kind, name = half, fmt.Sprintf("%s/left-%04d", c.area, n)
		w.halves = append(w.halves, c)
	default:
		c.kind, name = clash, c.area+"/readme"
	}
	head, err := w.commit(ctx, made{c.branch, main, fmt.Sprintf("Change %d", n), map[string]string{name: fmt.Sprintf("of change %d\n", n)}})
	if err != nil {
		return nil, err
	}
	c.asked = []string{head}
	w.changes = append(w.changes, c)
	return c, nil
}

// push moves the branch of a change after the author has asked to land it.
func (w *world) push(ctx context.Context, c *change) error {
	_, err := w.commit(ctx, made{c.branch, "refs/heads/" + c.branch + "^0", "One thing more", map[string]string{c.area + "/more-" + c.branch: "more\n"}})
	return err
}

// past pushes a sound commit to main without the queue. It may lose to a landing.
func (w *world) past(ctx context.Context, n int) error {
	main, err := w.git(ctx, "", "-C", w.dir, "rev-parse", "refs/heads/main")
	if err != nil {
		return err
	}
	commit, err := w.commit(ctx, made{"past", main, "Past the queue", map[string]string{fmt.Sprintf("%s/past-%d", areas[n%len(areas)], n): "past\n"}})
	if err != nil {
		return err
	}
	if _, err := w.git(ctx, "", "-C", w.dir, "update-ref", "refs/heads/main", commit, main); err != nil && ctx.Err() != nil {
		return err
	}
	_, err = w.git(ctx, "", "-C", w.dir, "update-ref", "-d", "refs/heads/past")
	return err
}

// git runs git without the user's configuration, and returns what it prints.
func (w *world) git(ctx context.Context, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd.Stdin = strings.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}
