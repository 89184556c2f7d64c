package github

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// accessPayload has the members that we use of webhooks about our access to
// repositories, and about where they are.
type accessPayload struct {
	Action       string `json:"action"`
	Installation struct {
		Account account `json:"account"`
	} `json:"installation"`
	Repositories []named `json:"repositories"`
	Added        []named `json:"repositories_added"`
	Removed      []named `json:"repositories_removed"`
	Repository   named   `json:"repository"`
	Changes      struct {
		Default struct {
			From string `json:"from"`
		} `json:"default_branch"`
		Repository struct {
			Name struct {
				From string `json:"from"`
			} `json:"name"`
		} `json:"repository"`
		Owner struct {
			From struct {
				User         account `json:"user"`
				Organization account `json:"organization"`
			} `json:"from"`
		} `json:"owner"`
	} `json:"changes"`
}

type named struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
}

// access reads a webhook about our access to repositories, or about where they
// are. ok is false where it is about something else.
func access(d *forge.Delivery, data []byte) (ok bool, err error) {
	switch d.Kind {
	case "installation", "installation_repositories", "repository":
	default:
		return false, nil
	}
	var p accessPayload
	if err := json.Unmarshal(data, &p); err != nil {
		return true, fmt.Errorf("%w: %w", forge.ErrMalformed, err)
	}
	say := func(e queue.Access) {
		d.Events = append(d.Events, queue.Event{ID: "github/delivery/" + d.ID, Body: e})
	}
	switch d.Kind + " " + p.Action {
	case "installation suspend":
		d.Account = p.Installation.Account.Login
		say(queue.Access{Lost: "the App's installation was suspended; have it unsuspended"})
	case "installation deleted":
		d.Account = p.Installation.Account.Login
		say(queue.Access{Lost: "the App was uninstalled; install it again"})
	case "installation unsuspend", "installation created", "installation new_permissions_accepted":
		d.Account = p.Installation.Account.Login
		say(queue.Access{})
	case "installation_repositories removed":
		d.Repositories = places(p.Removed)
		say(queue.Access{Lost: "the repository was taken from the App's installation; add it there again"})
	case "installation_repositories added":
		d.Repositories = places(p.Added)
		say(queue.Access{})
	case "repository renamed", "repository transferred":
		owner, name, _ := strings.Cut(p.Repository.FullName, "/")
		if from := p.Changes.Repository.Name.From; from != "" {
			name = from
		}
		if from := p.Changes.Owner.From; from.User.Login+from.Organization.Login != "" {
			owner = from.User.Login + from.Organization.Login
		}
		if p.Repository.FullName == "" {
			return true, fmt.Errorf("%w: no repository", forge.ErrMalformed)
		}
		d.Repository, d.RepositoryID, d.Formerly = p.Repository.FullName, p.Repository.ID, owner+"/"+name
		say(queue.Access{Moved: true})
	case "repository edited":
		if p.Changes.Default.From == "" {
			return true, forge.ErrIgnored
		}
		d.Repository, d.RepositoryID = p.Repository.FullName, p.Repository.ID
		say(queue.Access{Moved: true}) // the branch may have been renamed: each queue that lands on it looks
	default:
		return true, forge.ErrIgnored
	}
	if d.Account == "" && d.Repository == "" && len(d.Repositories) == 0 {
		return true, forge.ErrIgnored // of an installation with nothing for us
	}
	return true, nil
}

func places(list []named) (out []forge.Place) {
	for _, n := range list {
		out = append(out, forge.Place{ID: n.ID, Name: n.FullName})
	}
	return out
}
