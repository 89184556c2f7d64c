package speculation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

var update = flag.Bool("update", false, "write what the scripts print")

// TestScripts runs testdata/*.txt. A script is commands, each followed by
// "----" and by what comes of it: what the core decides, asks for and says.
// Comments and readings are not printed. The commands:
//
//	world targets=a,b steps=... [external=hold] [retries=1] [red=a:bad] ...
//	      [lanes] [project=NAME:TARGETS:BENEFIT] [quota=NAME:AUTHORS/PROJECT:BUILDS:WHEN]
//	pull N [by=user] [on=M] file=tokens ...  opens pull request N on main as it is, or on top of M
//	retarget N main|M           gives it another base
//	label N [user=boss] NAME    sets a label; -NAME takes it off
//	say N [user=boss] TEXT      comments, and lets everything but builds happen
//	step N TEXT                 comments, and lets nothing happen
//	act [KIND]                  carries out the outstanding actions (of a kind)
//	hold KIND / release         keeps actions of a kind back / lets them go
//	build CHAIN                 finishes the build of a chain, e.g. 1+2, or main
//	builds                      finishes builds until there are none
//	fault WHAT                  infra, no-runner, timeout, flake: for the next build
//	outside file=tokens ...     somebody pushes to main; forced: instead of its last commit;
//	                            unheard: and nobody tells the queue
//	head N file=tokens          the author pushes
//	refuse on|off               protection
//	pass DURATION               time passes
//	status                      the changes, with what they wait for
//	why N                       its builds and why they run, what it waits for, what is believed of it
//	notice N                    the answer to a command that was not followed
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(data))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(data); got != want {
				t.Errorf("%s prints (run with -update to accept):\n%s", file, got)
			}
		})
	}
}

// runScript returns the script with its results made again.
func runScript(t *testing.T, text string) string {
	var out strings.Builder
	s := &script{t: t, kept: map[string]bool{}, faulted: map[string]int{}}
	skip := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "----":
			skip = true
		case line == "":
			skip = false
			out.WriteString("\n")
		case skip:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			printed := s.run(line)
			out.WriteString(line + "\n")
			if printed != "" {
				out.WriteString("----\n" + printed)
			}
		}
	}
	return out.String()
}

type script struct {
	*world
	t       *testing.T
	kept    map[string]bool
	faulted map[string]int
	printed int
	names   map[queue.CommitID]string
}

func (s *script) run(line string) string {
	words := strings.Fields(line)
	if words[0] != "world" && s.world == nil {
		s.t.Fatalf("%q before world", line)
	}
	if s.world != nil {
		s.now = s.now.Add(time.Second)
	}
	switch words[0] {
	case "world":
		s.create(words[1:])
	case "pull":
		n := mustNumber(s.t, words[1])
		author, by := strings.CutPrefix(words[2], "by=")
		if by {
			words = words[1:]
		}
		on, stacked := strings.CutPrefix(words[2], "on=")
		if stacked {
			words = words[1:]
		}
		from := s.main
		if stacked {
			from = s.pulls[mustNumber(s.t, on)].head
		}
		p := s.open(from, edits2(words[2:]))
		if stacked {
			p.base = branchOf(s.pulls[mustNumber(s.t, on)])
		}
		if p.number != n {
			s.t.Fatalf("this is pull %d", p.number)
		}
		if by {
			p.author = author
		}
	case "label":
		user, rest := "dev", words[2:]
		if u, ok := strings.CutPrefix(rest[0], "user="); ok {
			user, rest = u, rest[1:]
		}
		name, off := strings.CutPrefix(rest[0], "-")
		s.tell(queue.Labeled{Number: mustNumber(s.t, words[1]), Label: name, Actor: user, On: !off})
		s.rest("")
	case "say", "step":
		user, rest := "dev", words[2:]
		if u, ok := strings.CutPrefix(rest[0], "user="); ok {
			user, rest = u, rest[1:]
		}
		s.step(s.say(s.pulls[mustNumber(s.t, words[1])], user, strings.Join(rest, " ")))
		if words[0] == "say" {
			s.rest("")
		}
	case "act":
		s.rest(strings.Join(words[1:], ""))
	case "hold":
		s.kept[words[1]] = true
	case "release":
		clear(s.kept)
		s.rest("")
	case "build":
		s.finish(words[1])
	case "builds":
		for going := s.going(); len(going) > 0; going = s.going() {
			s.finish(s.chain(going[0]))
		}
	case "fault":
		s.faulted[words[1]]++
	case "outside":
		s.push1(words[1:])
	case "head":
		p := s.pulls[mustNumber(s.t, words[1])]
		p.head = s.put(commit{parent: p.head, tree: s.commits[p.head].tree.with(edits2(words[2:]))}).id
		s.tell(queue.HeadMoved{Number: p.number, Head: p.head})
		s.rest("")
	case "stack": // of the forge's own; 0: none
		for _, n := range words[2:] {
			p := s.pulls[mustNumber(s.t, n)]
			p.native = mustNumber(s.t, words[1])
			s.tell(queue.Retargeted{Number: p.number})
		}
		s.rest("")
	case "restack": // by the forge, in one go: pull, on=, its edit
		p, on := s.pulls[mustNumber(s.t, words[1])], strings.TrimPrefix(words[2], "on=")
		low := (*pull)(nil)
		if on != "main" {
			low = s.pulls[mustNumber(s.t, on)]
		}
		s.restack(p, low, edits2(words[3:]))
		s.tell(queue.HeadMoved{Number: p.number, Head: p.head})
		s.rest("")
	case "retarget":
		p := s.pulls[mustNumber(s.t, words[1])]
		if p.base = words[2]; p.base != "main" {
			p.base = branchOf(s.pulls[mustNumber(s.t, words[2])])
		}
		s.tell(queue.Retargeted{Number: p.number})
		s.rest("")
	case "refuse":
		s.refuses = words[1] == "on"
	case "pass":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
		s.tell(queue.Tick{})
		s.rest("")
	case "status":
		return s.status()
	case "why":
		return s.why(mustNumber(s.t, words[1]))
	case "notice":
		p := s.core.State().Pulls[mustNumber(s.t, words[1])]
		return s.clean(fmt.Sprintf("to %s: %s %v", p.NoticeTo, p.Notice.Code, p.Notice.Names)) + "\n"
	default:
		s.t.Fatalf("%q is no command", line)
	}
	return s.news()
}

func mustNumber(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// edits2 reads file=tokens with "," between tokens.
func edits2(words []string) edit {
	e := edit{}
	for _, w := range words {
		f, toks, _ := strings.Cut(w, "=")
		e[f] = strings.ReplaceAll(toks, ",", " ")
	}
	return e
}

func (s *script) create(words []string) {
	rules := rulesOf(config.Rules{})
	l, files := law{needs: map[string][]string{}}, tree{barrier: "go1", unowned: "data", stepsFile: unit}
	slots := 8
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "targets":
			l.targets = strings.Split(value, ",")
		case "steps":
			files[stepsFile] = strings.ReplaceAll(value, ",", " ")
		case "order":
			rules.Order = config.Order(value)
		case "external":
			rules.External = config.External(value)
		case "lanes":
			rules.Lanes = config.DefaultLanes()
		case "project":
			parts := strings.Split(value, ":")
			benefit, err := strconv.ParseFloat(parts[2], 64)
			if err != nil {
				s.t.Fatal(err)
			}
			rules.Projects = append(rules.Projects, config.Project{Name: parts[0], Targets: strings.Split(parts[1], "+"), Benefit: benefit})
		case "quota":
			parts := strings.Split(value, ":")
			authors, project, _ := strings.Cut(parts[1], "/")
			q := config.Quota{Name: parts[0], Project: project, Builds: mustNumber(s.t, parts[2]), When: config.When(parts[3])}
			if authors == "each" {
				q.Per = config.PerAuthor
			} else if authors != "" {
				q.Authors = strings.Split(authors, "+")
			}
			rules.Quotas = append(rules.Quotas, q)
		case "retries":
			rules.Retries = mustNumber(s.t, value)
		case "slots":
			slots = mustNumber(s.t, value)
		case "red": // target:token+token[/unless]
			target, rest, _ := strings.Cut(value, ":")
			all, unless, _ := strings.Cut(rest, "/")
			l.rules = append(l.rules, rule{target: target, all: strings.Split(all, "+"), unless: unless})
		default:
			s.t.Fatalf("%q is nothing of a world", w)
		}
	}
	for _, n := range l.targets {
		files[fileOf(n)] = "base"
	}
	if len(rules.Lanes) > 0 {
		filled := config.Config{Queue: rules}
		filled.Defaults()
		rules = filled.Queue
	}
	s.world = newWorld(s.t, l, files, rules)
	s.audit.flaky = true
	once := func(what string) func([]queue.Key) bool {
		return func([]queue.Key) bool {
			if s.faulted[what] == 0 {
				return false
			}
			s.faulted[what]--
			return true
		}
	}
	s.flake, s.timeout = once("flake"), once("timeout")
	s.infra = func(*queue.Build) (bool, bool) {
		none := once("no-runner")(nil)
		return none || once("infra")(nil), none
	}
	s.tell(queue.Capacity{Slots: slots})
	s.rest("")
}

// rest carries out all actions (of a kind) that are not held back.
func (s *script) rest(kind string) {
	s.t.Helper()
	for range 2000 {
		i := slices.IndexFunc(s.waits, func(a queue.Action) bool {
			k, _ := a.Task.Name()
			return !s.kept[k] && (kind == "" || kind == k)
		})
		if i < 0 {
			return
		}
		s.now++
		s.work(i)
	}
	s.t.Fatalf("no end of actions")
}

func (s *script) push1(words []string) {
	heard := words[0] != "unheard"
	if !heard {
		words = words[1:]
	}
	if words[0] == "forced" {
		line := s.line(s.main)
		for _, x := range line[0].carries() {
			s.audit.removed[x.Change] = true
		}
		s.main, words = line[1].id, words[1:]
	}
	s.commitOutside(s.commits[s.main].tree.with(edits2(words)))
	if heard {
		s.tell(queue.MainMoved{Branch: "main"})
	}
	s.rest("")
}

// chain names a build by the numbers of its changes, e.g. 1+2; main for a build of main.
func (s *script) chain(r *run) string {
	if r.build.Change == "" {
		return "main"
	}
	var out []string
	for _, id := range append(slices.Clone(r.build.Chain), r.build.Change) {
		n, _, _ := strings.Cut(string(id), ".")
		out = append(out, n)
	}
	return strings.Join(out, "+")
}

func (s *script) finish(chain string) {
	for _, r := range s.going() {
		if s.chain(r) == chain {
			s.now = s.now.Add(10 * time.Second)
			for !r.over {
				s.tell(s.advance(r)...)
			}
			s.rest("")
			return
		}
	}
	var have []string
	for _, r := range s.going() {
		have = append(have, s.chain(r))
	}
	s.t.Fatalf("no build of %s is going; there are %v", chain, have)
}

var hex = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`)

// news prints what the log says since the last time, without ids that only
// machines can tell apart.
func (s *script) news() string {
	var out strings.Builder
	for _, line := range s.log[s.printed:] {
		_, line, _ = strings.Cut(line, " ")
		if strings.HasPrefix(line, "<-") || containsAny(line, "-> publish/", "-> react/", "-> inspect/", "##") {
			continue
		}
		out.WriteString(s.clean(line) + "\n")
	}
	s.printed = len(s.log)
	return out.String()
}

var readAt = regexp.MustCompile(`@\d{13}/`)

var changeID = regexp.MustCompile(`\b(\d+)\.[0-9a-f]{8}\b`)

func (s *script) clean(line string) string {
	line = readAt.ReplaceAllString(line, "/")
	line = changeID.ReplaceAllString(line, "#$1")
	line = hex.ReplaceAllStringFunc(line, s.name)
	line = strings.NewReplacer(" { [] }", "", " []", "", "{", "(", "}", ")", " [] )", ")", "[] ", "").Replace(line)
	return strings.Join(strings.Fields(line), " ")
}

// name gives commits, builds and pushes small names in the order of appearance.
func (s *script) name(id string) string {
	if s.names == nil {
		s.names = map[queue.CommitID]string{}
	}
	key := queue.CommitID(id)
	if n, ok := s.names[key]; ok {
		return n
	}
	n := fmt.Sprintf("x%d", len(s.names))
	if c := s.commits[key]; c != nil {
		n = fmt.Sprintf("m%d", len(s.names))
	} else if r := s.runs[queue.BuildID(id)]; r != nil {
		n = "b(" + s.chain(r) + ")"
	} else if b := s.core.State().Builds[queue.BuildID(id)]; b != nil {
		n = "b(" + s.chain(&run{build: *b}) + ")"
	}
	s.names[key] = n
	return n
}

func (s *script) status() string {
	var out strings.Builder
	m := s.core.State().Main
	if m.Paused != nil {
		fmt.Fprintf(&out, "paused by %s: %s\n", m.Paused.By, s.clean(m.Paused.Reason))
	}
	for _, n := range derived.Sorted(s.pulls) {
		if s.core.State().Pulls[n] == nil {
			continue
		}
		ch := s.core.settling.shownOf(s.core.State().Pulls[n])
		if ch == nil {
			fmt.Fprintf(&out, "#%d %s\n", n, s.clean(fmt.Sprint(s.core.State().Pulls[n].Notice)))
			continue
		}
		fmt.Fprintf(&out, "#%d %s", n, ch.Phase)
		for _, r := range append([]queue.Reason{ch.Reason}, s.waitsOf(ch.ID)...) {
			if r.Code != "" && (ch.Phase == queue.Pending || r.Code == ch.Reason.Code) {
				fmt.Fprintf(&out, "; %s", s.clean(strings.TrimSpace(fmt.Sprintf("%s %v %s", r.Code, r.Names, r.Detail))))
			}
			if ch.Phase != queue.Pending {
				break
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

func containsAny(s string, of ...string) bool {
	return slices.ContainsFunc(of, func(x string) bool { return strings.Contains(s, x) })
}
