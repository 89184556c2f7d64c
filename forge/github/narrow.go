package github

import (
	"encoding/json"
	"slices"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"
)

// purpose says what a token is for. Each token reaches one repository, and
// there only what its purpose needs: one that leaks from git cannot comment, and
// one that leaks from the REST interface cannot push.
type purpose int

const (
	forREST  purpose = iota
	forGit           // fetching and pushing
	forMerge         // having GitHub merge pull requests (merge_api), which moves a branch
)

// allows returns the access of a need that a purpose takes, or "".
func (p purpose) allows(n Need) string {
	switch p {
	case forGit:
		if slices.Contains([]string{"contents", "workflows", "metadata"}, n.Name) {
			return n.Access
		}
	case forMerge:
		if slices.Contains([]string{"contents", "workflows", "metadata", "pull_requests"}, n.Name) {
			return n.Access
		}
	case forREST:
		switch n.Name {
		case "workflows":
		case "contents":
			return "read"
		default:
			return n.Access
		}
	}
	return ""
}

// ask returns the permissions of a token for a purpose: those that are needed and
// granted. GitHub refuses a token that asks for more. Nil, which asks for all
// granted permissions, is for servers that do not say which are granted.
func (p purpose) ask(granted *github.InstallationPermissions) *github.InstallationPermissions {
	have := map[string]string{}
	if raw, err := json.Marshal(granted); granted == nil || err != nil || json.Unmarshal(raw, &have) != nil || len(have) == 0 {
		return nil
	}
	want := map[string]string{}
	for _, n := range Needs() {
		access := p.allows(n)
		switch {
		case access == "" || have[n.Name] == "":
		case grants(have[n.Name], access):
			want[n.Name] = access
		case grants(have[n.Name], "read"):
			want[n.Name] = "read"
		}
	}
	if len(want) == 0 {
		return nil
	}
	out := &github.InstallationPermissions{}
	raw, err := json.Marshal(want)
	if err != nil || json.Unmarshal(raw, out) != nil {
		return nil
	}
	return out
}

// narrow returns the permissions and the repository to ask for in a token of this
// session.
func (s *session) narrow(found *github.Installation) *github.InstallationTokenOptions {
	o := &github.InstallationTokenOptions{Permissions: s.purpose.ask(found.Permissions)}
	if id := s.f.repositoryID(); id != 0 {
		o.RepositoryIDs = []int64{id}
	} else {
		o.Repositories = []string{s.f.o.Name}
	}
	return o
}

// repositoryID is the repository's id, which stays the same when the name changes;
// 0 as long as it is not known.
func (f *Forge) repositoryID() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.o.RepositoryID
}

// learn takes the repository's id from a token that was asked for by name.
func (f *Forge) learn(inst *ghinstallation.Transport) {
	if f.repositoryID() != 0 {
		return
	}
	list, err := inst.Repositories()
	if err != nil || len(list) != 1 || list[0].GetID() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.o.RepositoryID = list[0].GetID()
}

// known takes in the repository's id. Tokens were asked for by name, which another
// repository may have by now.
func (f *Forge) known(id int64) {
	f.mu.Lock()
	news := id != 0 && f.o.RepositoryID != id
	if news {
		f.o.RepositoryID = id
	}
	f.mu.Unlock()
	if news {
		f.Reset()
	}
}

// Refresh makes new tokens before the next request. It is called when the App's
// permissions have changed.
func (f *Forge) Refresh() {
	for _, s := range []*session{f.session, f.git, f.merge} {
		s.mu.Lock()
		s.era++
		s.inst = nil
		s.mu.Unlock()
	}
}
