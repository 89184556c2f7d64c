package server

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/workers"
)

// variableFlags say which variables steps have beside those that every runner passes.
type variableFlags struct {
	Env    []string `name:"env" env:"SUBMITQUEUE_STEP_ENV" help:"A variable of the server's own environment that steps see, such as HTTPS_PROXY." placeholder:"NAME"`
	Secret []string `name:"secret" env:"SUBMITQUEUE_SECRETS" help:"A variable of steps whose value is in a file that only the server can read, and is shown as *** in logs. Everybody who may have a change built can use it; with OWNER/REPO: before it, in that repository only." placeholder:"[OWNER/REPO:]NAME=FILE"`
}

// read checks the variables of the flags, and reads the secrets.
func (f variableFlags) read() (secrets []workers.Secret, err error) {
	for _, name := range f.Env {
		if err := workers.Passed(os.Environ(), name); err != nil {
			return nil, fmt.Errorf("--env: %w", err)
		}
	}
	for _, text := range f.Secret {
		s, err := workers.ReadSecretOf(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--secret: %w", err)
		case slices.Contains(f.Env, s.Name), slices.ContainsFunc(secrets, func(t workers.Secret) bool { return t.Name == s.Name && strings.EqualFold(t.Of, s.Of) }):
			return nil, fmt.Errorf("--secret: %s is named twice: keep one", s.Name)
		}
		secrets = append(secrets, s)
	}
	return secrets, nil
}

// files returns the files with the secrets.
func (f variableFlags) files() (paths []string) {
	for _, text := range f.Secret {
		if _, path, ok := strings.Cut(text, "="); ok {
			paths = append(paths, path)
		}
	}
	return paths
}
