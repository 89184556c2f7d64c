package github

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// gitPace is the pace that GitHub recommends for one repository, under "Activity" in
// https://docs.github.com/repositories/creating-and-managing-repositories/repository-limits
var gitPace = forge.Pace{Pushes: 6, Reads: 15}

// Remote returns the repository's address for git and a header with a token
// that lives for at least a minute; ask again before each use.
func (f *Forge) Remote(ctx context.Context) (forge.Remote, error) {
	token, err := f.git.token(ctx)
	if err != nil {
		return forge.Remote{}, failure(ctx, "reach the repository by git", err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	r := forge.Remote{URL: f.gitURL(), Header: []string{"Authorization: Basic " + basic}}
	if f.o.Shared.writes > 0 {
		r.Pace = gitPace
	}
	return r, nil
}

// gitURL is beside the REST interface: api.github.com is for github.com, and
// https://host/api/v3/ for https://host.
func (f *Forge) gitURL() string {
	host := f.base.Host
	if !strings.HasSuffix(f.base.Path, "/api/v3/") {
		host = strings.TrimPrefix(host, "api.")
	}
	return f.base.Scheme + "://" + host + "/" + f.mover.place() + ".git"
}
