package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Target is an address for notifications, and the kinds and queues that it is told of. Its
// printed form holds no secret.
type Target struct {
	sink   sink
	url    *url.URL // without its options
	kinds  []string
	queues []string // names of queues, or of repositories; empty: all
	secret []byte
}

// leastSecret is the least length of a secret.
const leastSecret = 16

// Name returns the name of the target for logs and metrics, and of its place in a
// history: the sink, and digits that tell one address from another and say nothing of it.
func (t Target) Name() string {
	sum := sha256.Sum256([]byte(t.url.String()))
	return t.sink.name + "-" + hex.EncodeToString(sum[:4])
}

// String implements fmt.Stringer, so that no log shows an address.
func (t Target) String() string { return t.Name() }

// GoString implements fmt.GoStringer, so that no log shows an address.
func (t Target) GoString() string { return t.Name() }

// wants reports whether the target is told of a kind in a queue. A target names a queue by its
// name, not by its key, and the name may have changed since.
func (t Target) wants(source Source, kind string) bool {
	return slices.Contains(t.kinds, kind) && (len(t.queues) == 0 || slices.ContainsFunc(t.queues, source.Means))
}

// Parse reads targets as a command line has them, one or several (with spaces between
// them) in each argument. An error says which target is wrong and why, and has nothing
// of its address.
func Parse(args []string) ([]Target, error) { return parse(args, sinks, kinds) }

// Files returns the files that hold targets of a command line: others must not be able to read
// them.
func Files(args []string) (paths []string) {
	for text := range strings.FieldsSeq(strings.Join(args, " ")) {
		if _, file, is := strings.Cut(text, "=@"); is {
			if abs, err := filepath.Abs(file); err == nil {
				paths = append(paths, abs)
			}
		}
	}
	return paths
}

func parse(args []string, sinks []sink, kinds []kind) ([]Target, error) {
	var targets []Target
	for i, text := range strings.Fields(strings.Join(args, " ")) {
		t, err := parseOne(text, sinks, kinds)
		if err == nil && slices.ContainsFunc(targets, func(o Target) bool { return o.Name() == t.Name() }) {
			err = errors.New("its address was given before: put all its kinds into one, with commas")
		}
		if err != nil {
			return nil, fmt.Errorf("notification target %d: %w", i+1, err)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func parseOne(text string, sinks []sink, kinds []kind) (t Target, err error) {
	name, address, _ := strings.Cut(text, "=")
	at := slices.IndexFunc(sinks, func(s sink) bool { return s.name == name })
	if at < 0 {
		return t, fmt.Errorf("write SINK=ADDRESS, where SINK is one of %s", names(sinks, func(s sink) string { return s.name }))
	}
	t.sink = sinks[at]
	if file, is := strings.CutPrefix(address, "@"); is {
		raw, err := os.ReadFile(file)
		if err != nil { // the error's text has the file's name, which may be an address
			return t, fmt.Errorf("the file behind its @ cannot be read: %w", cause(err))
		}
		address = strings.TrimSpace(string(raw))
	}
	address, options, _ := strings.Cut(address, "#")
	if t.url, err = url.Parse(address); err != nil || t.url.Host == "" || t.url.Scheme != "https" && t.url.Scheme != "http" {
		return t, errors.New("its address is no http:// or https:// one")
	}
	for _, k := range kinds {
		if k.usual {
			t.kinds = append(t.kinds, k.name)
		}
	}
	if err := t.options(options, kinds); err != nil {
		return t, err
	}
	if t.sink.signed != (t.secret != nil) {
		if t.sink.signed {
			return t, errors.New("it has no secret to sign with: put #secret=... behind the address, such as of openssl rand -hex 32")
		}
		return t, fmt.Errorf("it has a secret, and %s signs nothing", name)
	}
	return t, nil
}

// cause is an error of a file without the file's name.
func cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// options reads the options after the address.
func (t *Target) options(text string, kinds []kind) error {
	for option := range strings.SplitSeq(text, "&") {
		if option == "" {
			continue
		}
		key, value, _ := strings.Cut(option, "=")
		value, err := url.PathUnescape(value)
		if err != nil {
			return errors.New("a value of its options has a % that begins no character: write %25 for one")
		}
		switch key {
		case "kinds":
			if t.kinds, err = kindsOf(value, kinds); err != nil {
				return err
			}
		case "queue":
			t.queues = strings.Split(value, ",")
		case "secret":
			if len(value) < leastSecret {
				return fmt.Errorf("its secret is shorter than %d characters; make one with: openssl rand -hex 32", leastSecret)
			}
			t.secret = []byte(value)
		default:
			return errors.New("behind the # of its address are kinds=, queue= and secret=, with & between them, and nothing else")
		}
	}
	return nil
}

func kindsOf(list string, kinds []kind) ([]string, error) {
	all := names(kinds, func(k kind) string { return k.name })
	if list == "all" {
		return strings.Split(all, ", "), nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name }) {
			return nil, fmt.Errorf("its kinds are a list, with commas, of: %s; or all", all)
		}
	}
	return chosen, nil
}

func names[T any](rows []T, name func(T) string) string {
	var out []string
	for _, r := range rows {
		out = append(out, name(r))
	}
	return strings.Join(out, ", ")
}
