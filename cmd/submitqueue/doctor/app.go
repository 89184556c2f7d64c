package doctor

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
)

// GitHub accepts a token of the App that begins at most a minute in the future. The
// library sets the beginning of tokens back by that much.
const (
	skewWarns  = 20 * time.Second
	skewBlocks = time.Minute
)

func (r *report) clock(f Facts) {
	off := f.Skew.Abs()
	side := "behind"
	if f.Skew < 0 {
		side = "ahead of"
	}
	switch {
	case f.Skewed != nil:
		r.unread("clock", f.Skewed)
	case off >= skewBlocks:
		r.add(Blocks, "clock", fmt.Sprintf("this machine's clock is %s %s GitHub's, which refuses the App's tokens for that", off, side), "set the clock, and keep it right with NTP")
	case off >= skewWarns:
		r.add(Warns, "clock", fmt.Sprintf("this machine's clock is %s %s GitHub's; from a minute on the App's tokens are refused", off, side), "set the clock, and keep it right with NTP")
	default:
		r.fine("clock", "within %s of GitHub's", max(off, time.Second))
	}
}

// app judges the App, and reports whether there is more to look at.
func (r *report) app(f Facts) bool {
	switch err := f.AppErr; {
	case errors.Is(err, forge.ErrForbidden):
		r.add(Blocks, "app", "GitHub does not take the App's credentials: "+err.Error(), "check the App's id, its private key, and this machine's clock")
		return false
	case err != nil:
		r.add(Blocks, "app", "GitHub does not answer: "+err.Error(), "check the network and --github-url, and run this again")
		return false
	}
	in := f.Installation
	switch err := f.InstallationErr; {
	case errors.Is(err, forge.ErrForbidden), errors.Is(err, forge.ErrNotFound):
		r.add(Blocks, "app", fmt.Sprintf("the App %s is not installed on %s", f.App.Slug, f.Repository), "install it: "+strings.TrimSuffix(f.App.HTMLURL, "/")+"/installations/new")
		return false
	case err != nil:
		r.add(Blocks, "app", "the App's installation cannot be read: "+err.Error(), "run this again")
		return false
	case in.SuspendedAt != nil:
		r.add(Blocks, "app", fmt.Sprintf("the installation of %s was suspended on %s", f.App.Slug, in.SuspendedAt.Format(time.DateOnly)), "unsuspend it: "+in.HTMLURL)
		return false
	}
	r.fine("app", "%s is installed on %s", f.App.Slug, f.Repository)
	return true
}

func (r *report) permissions(f Facts) {
	have := f.Installation.Permissions
	settings := appSettings(f) + "/permissions"
	missing := 0
	asked := map[string]bool{"merge_queues": true} // where GitHub wants it, it is needed to read the branch
	for _, n := range github.Needs() {
		asked[n.Name] = true
		if enough(have[n.Name], n.Access) {
			continue
		}
		missing++
		level, effect := Blocks, "without it nothing works"
		if n.Without != "" {
			level, effect = Warns, n.Without
		}
		fix := fmt.Sprintf("give the App %s: %s in %s, then accept it on the installation: %s", n.Name, n.Access, settings, f.Installation.HTMLURL)
		if enough(f.App.Permissions[n.Name], n.Access) {
			fix = "the App asks for it; accept it on the installation: " + f.Installation.HTMLURL
		}
		r.add(level, "permission", fmt.Sprintf("%s: %s is missing (%s); %s", n.Name, n.Access, n.Why, effect), fix)
	}
	var more []string
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !asked[name] {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		r.add(Warns, "permission", "the App has more than it needs: "+strings.Join(more, ", "), "take it away in "+settings)
	}
	if missing == 0 {
		r.fine("permission", "all %d are granted", len(github.Needs()))
	}
}

func enough(have, want string) bool {
	return have == want || have == "admin" || have == "write" && want == "read"
}

func (r *report) events(f Facts) {
	missing := 0
	for _, n := range github.EventNeeds() {
		if slices.Contains(f.App.Events, n.Name) {
			continue
		}
		missing++
		level, effect := Blocks, "without it nothing works"
		if n.Without != "" {
			level, effect = Warns, n.Without
		}
		r.add(level, "event", fmt.Sprintf("the App is not told of %s (%s); %s", n.Name, n.Why, effect), "subscribe to it in "+appSettings(f)+"/permissions")
	}
	if missing == 0 {
		r.fine("event", "all %d are subscribed to", len(github.EventNeeds()))
	}
}

// appSettings is the page on which the App's owner changes the App.
func appSettings(f Facts) string {
	u, err := url.Parse(f.App.HTMLURL)
	if err != nil || u.Host == "" {
		return "the App's settings"
	}
	base := u.Scheme + "://" + u.Host
	if f.App.Owner.Type == "Organization" {
		return base + "/organizations/" + f.App.Owner.Login + "/settings/apps/" + f.App.Slug
	}
	return base + "/settings/apps/" + f.App.Slug
}

func (r *report) hook(f Facts) {
	if f.HookErr != nil {
		r.unread("webhook", f.HookErr)
		return
	}
	h, fix := f.Hook, "set it in "+appSettings(f)
	u, err := url.Parse(h.URL)
	switch {
	case h.URL == "":
		r.add(Blocks, "webhook", "the App has no webhook address, so nothing is heard of GitHub", fix+" to the server's address with /webhook")
		return
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.add(Blocks, "webhook", h.URL+" is no address", fix)
		return
	case h.Secret == "":
		r.add(Blocks, "webhook", "the App signs its webhooks with no secret, and the server refuses what is not signed", fix+", and give the server the same (--webhook-secret)")
		return
	}
	bad := len(r.list)
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip.IsLoopback() {
		r.add(Warns, "webhook", h.URL+" is an address of GitHub's own machine", fix+" to one that GitHub can reach")
	} else if u.Scheme == "http" {
		r.add(Warns, "webhook", "webhooks go over plain HTTP, where others can read them", fix+" to an https address")
	}
	if !strings.HasPrefix(u.Path, "/webhook") {
		r.add(Warns, "webhook", "webhooks go to "+h.URL+", the server takes them at /webhook", fix+", unless a proxy changes the path")
	}
	if f.Public != "" && !strings.HasPrefix(h.URL, strings.TrimSuffix(f.Public, "/")+"/") {
		r.add(Warns, "webhook", "webhooks go to "+h.URL+", and the server is at "+f.Public, fix)
	}
	if h.InsecureSSL == "1" {
		r.add(Warns, "webhook", "GitHub does not check the server's certificate", "switch SSL verification on in "+appSettings(f))
	}
	if f.Unheard != nil {
		r.add(Warns, "webhook", fmt.Sprintf("%s does not answer from here as the server does: %v", h.URL, f.Unheard), "start the server, or look at the proxy before it; where only GitHub reaches the address, the deliveries tell")
	}
	if len(r.list) == bad {
		r.fine("webhook", "%s", h.URL)
	}
}

// deliveriesLook is how many of the newest deliveries are judged.
const deliveriesLook = 100

func (r *report) deliveries(f Facts) {
	if f.DeliveriesErr != nil {
		r.unread("deliveries", f.DeliveriesErr)
		return
	}
	list := f.Deliveries[:min(len(f.Deliveries), deliveriesLook)]
	if len(list) == 0 {
		r.add(Warns, "deliveries", "GitHub has sent no webhook in the last days", "comment on a pull request and run this again; if there is none then, look at the App's webhook address")
		return
	}
	arrived := map[string]bool{}
	for _, d := range list {
		arrived[d.GUID] = arrived[d.GUID] || d.StatusCode/100 == 2
	}
	lost := map[string]bool{}
	var first github.DeliveryFacts // the newest lost delivery
	for _, d := range list {
		if !arrived[d.GUID] {
			if len(lost) == 0 {
				first = d
			}
			lost[d.GUID] = true
		}
	}
	last := list[0]
	if len(lost) == 0 {
		r.fine("deliveries", "the last one, %s, arrived %s ago; all of the newest %d did", last.Event, age(f.Now.Sub(last.At)), len(list))
		return
	}
	says := fmt.Sprintf("%d of the newest %d webhooks have not arrived; the last of them, %s, %s ago: %s", len(lost), len(arrived), first.Event, age(f.Now.Sub(first.At)), status(first))
	if arrived[last.GUID] {
		r.add(Warns, "deliveries", says+"; the newest one has arrived", "nothing, if the server was away then: it asks for them again")
		return
	}
	fix := map[int]string{
		0:   "GitHub cannot reach " + f.Hook.URL + ": check the address, DNS, certificate and firewall",
		401: "the server has another webhook secret than the App: give both the same",
		404: "the address is another program's, or lacks /webhook: set it in " + appSettings(f),
		413: "a proxy before the server refuses large requests: let it take 25 MB",
		503: "the server could not store it: look at its log and at Redis",
	}[first.StatusCode]
	if fix == "" {
		fix = "look at the answer in " + appSettings(f) + "/advanced, and at the server's log"
	}
	r.add(Blocks, "deliveries", says, fix)
}

func status(d github.DeliveryFacts) string {
	if d.StatusCode == 0 {
		return d.Status
	}
	return fmt.Sprintf("%d %s", d.StatusCode, d.Status)
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return print.Counted(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return print.Counted(int(d/time.Hour), "hour")
	}
	return print.Counted(int(d/(24*time.Hour)), "day")
}

func (r *report) redis(f Facts) {
	s := f.Redis
	switch {
	case !s.Asked:
	case s.Err != nil:
		r.add(Blocks, "redis", "it does not answer: "+s.Err.Error(), "start it, or give its address with --redis")
	case s.Memory:
		r.add(Warns, "redis", "there is no Redis: the queue is in the server's memory, and a restart empties it", "install redis-server on the server's machine, or give the address of one with --redis")
	case s.Warns != "":
		r.add(Warns, "redis", s.Kind+" may lose what it has acknowledged: "+s.Warns, "set appendonly to yes, and appendfsync to always")
	default:
		r.fine("redis", "%s keeps what it has acknowledged", s.Kind)
	}
}
