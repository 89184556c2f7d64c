package forgetest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Screen holds a repository's rules for the contents of all pushes, on any branch.
type Screen struct {
	// MaxFile is the largest file in bytes. GitHub's is 100 MiB ("About large files on
	// GitHub"); 0: none.
	MaxFile int64
	// Secrets are words that push protection takes for a secret ("About push
	// protection").
	Secrets []string
}

// ScreenPushes makes the repository refuse pushes because of their contents. A push
// that breaks a rule in one commit is refused as a whole.
func (r *Repository) ScreenPushes(s Screen) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.screen = s
	r.s.touch()
}

// screened returns why GitHub refuses the contents that a move brings, or nil. An
// App needs the permission `workflows` to bring a workflow file that is on no branch
// with the same contents yet ("Scopes for OAuth apps", workflow, says the same of
// tokens).
func (r *store) screened(ctx context.Context, who identity, m refMove) *refusal {
	r.repo.s.mu.Lock()
	screen := r.repo.screen
	workflows := who.installation() && who.token.permissions["workflows"] != "write"
	r.repo.s.mu.Unlock()
	if m.new == zeroID || !workflows && screen.MaxFile == 0 && len(screen.Secrets) == 0 {
		return nil
	}
	out, err := r.git(ctx, nil, "rev-list", "--objects", "--in-commit-order", m.new, "--not", "--branches")
	if err != nil {
		return &refusal{reason: "pre-receive hook declined"}
	}
	for line := range strings.Lines(string(out)) {
		id, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if file == "" {
			continue
		}
		if dir, _ := path.Split(file); workflows && dir == ".github/workflows/" {
			return &refusal{reason: fmt.Sprintf("refusing to allow a GitHub App to create or update workflow `%s` without `workflows` permission", file)}
		}
		if screen.MaxFile == 0 && len(screen.Secrets) == 0 {
			continue
		}
		text, err := r.git(ctx, nil, "cat-file", "blob", id)
		if err != nil {
			continue // a directory
		}
		if size := int64(len(text)); screen.MaxFile > 0 && size > screen.MaxFile {
			return &refusal{reason: "pre-receive hook declined", lines: []string{
				"error: GH001: Large files detected. You may want to try Git Large File Storage - https://git-lfs.github.com.",
				fmt.Sprintf("error: File %s is %.2f MB; this exceeds GitHub's file size limit of %.2f MB", file, float64(size)/1e6, float64(screen.MaxFile)/1e6)}}
		}
		if slices.ContainsFunc(screen.Secrets, func(s string) bool { return strings.Contains(string(text), s) }) {
			return &refusal{reason: "push declined due to repository rule violations", lines: []string{
				"error: GH013: Repository rule violations found for " + m.ref + ".", "", "- GITHUB PUSH PROTECTION",
				"  Resolve the following violations before pushing again", "", "  - Push cannot contain secrets", "    path: " + file}}
		}
	}
	return nil
}
