package workers

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Secret is a variable of steps with a value that is shown to nobody.
type Secret struct {
	Name, Value string
	Of          string // the steps of this repository get it, as in acme/shop; "": all steps get it
}

// SecretsOf returns the secrets of a queue's steps (queue.Build.Queue), by their names. A
// secret of its repository overrides a secret of all. called returns the present name of a
// queue's repository; nil, or "": the name in the queue's key.
func SecretsOf(all []Secret, queue string, called func(queue string) string) map[string]string {
	repository, _, _ := strings.Cut(queue, "@")
	if called != nil {
		repository = cmp.Or(called(queue), repository)
	}
	own := map[string]string{}
	for _, s := range all {
		if s.Of == "" {
			own[s.Name] = s.Value
		}
	}
	for _, s := range all {
		if s.Of != "" && strings.EqualFold(s.Of, repository) {
			own[s.Name] = s.Value
		}
	}
	return own
}

var repositoryForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)

// ReadSecretOf reads NAME=FILE as ReadSecret does, or OWNER/REPO:NAME=FILE.
func ReadSecretOf(text string) (Secret, error) {
	name, path, _ := strings.Cut(text, "=")
	of, rest, bound := strings.Cut(name, ":")
	if !bound {
		return ReadSecret(text)
	}
	if !repositoryForm.MatchString(of) {
		return Secret{}, fmt.Errorf("%q is no repository: write OWNER/REPO:NAME=FILE", of)
	}
	s, err := ReadSecret(rest + "=" + path)
	s.Of = of
	return s, err
}

// Bounds of secrets: a shorter one could be guessed, and to mask it would make logs
// unreadable; a longer one fits into no environment.
const (
	leastSecret = 8
	mostSecret  = 64 << 10
)

// ReadSecret reads NAME=FILE. The value is the file's content without the newline at its
// end. Errors are for people, and show nothing of the value.
func ReadSecret(text string) (Secret, error) {
	name, path, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return Secret{}, fmt.Errorf("%q is no secret: write NAME=FILE", text)
	}
	if err := CheckVariable(name); err != nil {
		return Secret{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Secret{}, err
	}
	switch {
	case !info.Mode().IsRegular():
		return Secret{}, fmt.Errorf("%s is no file", path)
	case info.Mode().Perm()&0o004 != 0:
		return Secret{}, fmt.Errorf("%s is a secret that everybody on this machine can read: chmod 600 %[1]s", path)
	case info.Size() > mostSecret:
		return Secret{}, fmt.Errorf("%s has %d bytes, and a secret may have at most %d", path, info.Size(), mostSecret)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, err
	}
	value := strings.TrimRight(string(content), "\r\n")
	switch {
	case len(value) < leastSecret:
		return Secret{}, fmt.Errorf("the secret in %s has %d characters: with less than %d it could be guessed, and logs could not be read if it were masked in them", path, len(value), leastSecret)
	case strings.ContainsRune(value, 0):
		return Secret{}, fmt.Errorf("the secret in %s holds a NUL byte, which no variable can: put it in as base64, and have the step decode it", path)
	}
	return Secret{Name: name, Value: value}, nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// own are the variables that the server itself goes by, or that say where a step runs.
var own = []string{"PATH", "HOME", "PWD", "CI", "REDIS_URL", "IFS", "ENV", "BASH_ENV"}

// CheckVariable returns an error, for people, for a name that steps cannot be given.
func CheckVariable(name string) error {
	switch {
	case !variable.MatchString(name):
		return fmt.Errorf("%q is no name of a variable: it is made of letters, digits and _, and begins with no digit", name)
	case slices.Contains(own, name), strings.HasPrefix(name, "SUBMITQUEUE"), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"):
		return fmt.Errorf("%s is a variable that the server or the system itself goes by: give it to steps under another name", name)
	}
	return nil
}

// Passed returns an error, for people, for a name of the server's environment that cannot
// be passed to steps.
func Passed(env []string, name string) error {
	if err := CheckVariable(name); err != nil {
		return err
	}
	if !slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
		return errors.New(name + " is not set in the server's environment: set it there, or leave it out")
	}
	return nil
}

// disguises returns the encoded forms in which programs may write a secret. They are masked,
// too.
func disguises(value string) (forms []string) {
	if len(value) < leastSecret {
		return nil
	}
	forms = append(forms, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	if text, err := json.Marshal(value); err == nil {
		forms = append(forms, strings.Trim(string(text), `"`))
	}
	// base64 may have it at any of three offsets within a group; characters that also encode
	// its neighbours are left out.
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		whole := len(padded) / 3 * 3
		skip := []int{0, 2, 3}[before]
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := encoding.EncodeToString(padded[:whole])[skip:]
			forms = append(forms, text)
			if before == 0 { // as base64(1) and PEM break lines
				for _, width := range []int{64, 76} {
					for line := range slices.Chunk([]byte(encoding.EncodeToString([]byte(value))), width) {
						forms = append(forms, strings.TrimRight(string(line), "="))
					}
				}
			}
		}
	}
	return slices.DeleteFunc(forms, func(f string) bool { return len(f) < leastSecret-2 })
}
