package doctor

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge/gitlab"
)

// ours returns the webhooks that lead to the server. Where its address is not known, it
// returns those that look like the server's.
func (f GitLabFacts) ours() (list []gitlab.HookFacts) {
	for _, h := range f.Hooks {
		if f.Public != "" && h.LeadsTo(f.Public) || f.Public == "" && h.Ours() {
			list = append(list, h)
		}
	}
	return list
}

func (r *report) webhook(f GitLabFacts) {
	mend := f.setup("--url URL")
	if f.Public != "" {
		mend = f.setup("--url " + f.Public)
	}
	if f.HooksErr != nil {
		r.unread("webhook", f.HooksErr)
		return
	}
	hooks := f.ours()
	if len(hooks) == 0 {
		says, fix := "the project has no webhook of the queue, so nothing is heard of GitLab", "make it: "+mend
		if i := slices.IndexFunc(f.Hooks, gitlab.HookFacts.Ours); i >= 0 {
			says = fmt.Sprintf("webhooks go to %s, and the server is at %s", f.Hooks[i].URL, f.Public)
			fix = "lead it to the server: " + mend
		} else if f.Level < maintainer {
			says += "; one of its group might tell it, which only the group's owners see"
		}
		r.add(Blocks, "webhook", says, fix)
		return
	}
	if len(hooks) > 1 {
		r.add(Warns, "webhook", fmt.Sprintf("%d webhooks tell the server the same", len(hooks)), "delete all but one: "+f.page("integrations")+", "+strings.TrimSuffix(f.Repo.WebURL, "/")+"/-/hooks")
	}
	bad := len(r.list)
	for _, h := range hooks {
		r.oneHook(f, h, mend)
	}
	if len(r.list) == bad {
		how := "with a secret token"
		if hooks[0].Signed != nil && *hooks[0].Signed {
			how = "signed"
		}
		of := "the project"
		if hooks[0].Group != "" {
			of = "the group " + hooks[0].Group
		}
		r.fine("webhook", "%s, of %s, %s", hooks[0].URL, of, how)
	}
}

func (r *report) oneHook(f GitLabFacts, h gitlab.HookFacts, mend string) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Host == "" {
		r.add(Blocks, "webhook", h.URL+" is no address", "mend it: "+mend)
		return
	}
	if own, near := loopback(h.URL), loopback(f.Site); own && !near {
		r.add(Warns, "webhook", h.URL+" is an address of GitLab's own machine", "give one that GitLab reaches: "+f.setup("--url URL"))
	} else if u.Scheme == "http" && !own {
		r.add(Warns, "webhook", "webhooks go over plain HTTP, where others can read them", "put https in front of the server: "+f.setup("--url https://HOST"))
	} else if u.Scheme == "https" && !h.TLS {
		r.add(Warns, "webhook", "GitLab does not check the server's certificate", "mend it: "+mend)
	}
	var deaf []string
	for _, n := range gitlab.HookNeeds() {
		if !n.Told(h) {
			deaf = append(deaf, n.Name+" ("+n.Why+")")
		}
	}
	if len(deaf) > 0 {
		r.add(Blocks, "webhook", "it does not tell of "+strings.Join(deaf, ", "), "mend it: "+mend)
	}
	if h.Filter != "" {
		r.add(Warns, "webhook", fmt.Sprintf("it tells of pushes to %q only", h.Filter), "mend it: "+mend)
	}
	if h.Template != "" {
		r.add(Blocks, "webhook", "it sends a text of its own in place of GitLab's", "mend it: "+mend)
	}
	switch has, told := h.Secret(); {
	case told && !has:
		r.add(Blocks, "webhook", "it carries no secret, and the server refuses what proves nothing; GitLab forgets the secret where the address is changed", "give it one: "+mend)
	case h.Signed != nil && !*h.Signed:
		r.add(Warns, "webhook", "it carries its secret in the open, and this GitLab can sign", "take away the file of --gitlab-secret-file, which makes a new secret: "+mend+"; then restart the server")
	}
	if f.Unheard != nil {
		r.add(Warns, "webhook", fmt.Sprintf("%s does not answer from here as the server does: %v", h.URL, f.Unheard), "start the server, or look at the proxy before it; where only GitLab reaches the address, the deliveries tell")
	}
}

func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// sent judges what became of the newest deliveries. GitLab sends none a second time,
// and switches off a webhook that fails again and again.
func (r *report) sent(f GitLabFacts) {
	if f.DeliveriesErr != nil {
		r.unread("deliveries", f.DeliveriesErr)
	}
	for _, h := range f.ours() {
		switch until := h.Until(); {
		case h.Alert == "disabled":
			r.add(Blocks, "deliveries", "GitLab has switched the webhook off for good, after 40 failures in a row", whyOff(f, h)+"then send a test from "+hookPage(f, h)+", which switches it on; the queue reads what it has missed")
			continue
		case h.Alert == "temporarily_disabled" && !until.IsZero():
			r.add(Blocks, "deliveries", fmt.Sprintf("GitLab has switched the webhook off after failures, and tries again in %s (%s); it sends nothing until then", soon(until.Sub(f.Now)), until.UTC().Format("2006-01-02 15:04 UTC")),
				whyOff(f, h)+"or send a test from "+hookPage(f, h)+", which switches it on at once; the queue reads what it has missed")
			continue
		case h.Alert == "temporarily_disabled":
			r.add(Blocks, "deliveries", "GitLab has switched the webhook off for a while, after failures", whyOff(f, h)+"or send a test from "+hookPage(f, h)+", which switches it on at once")
			continue
		}
		r.delivered(f, h)
	}
}

func (r *report) delivered(f GitLabFacts, h gitlab.HookFacts) {
	list, known := f.Deliveries[h.ID]
	if !known {
		return // a webhook of a group, or a version before 17.3
	}
	if len(list) == 0 {
		r.add(Warns, "deliveries", "GitLab has sent no webhook in the last days", "comment on a merge request and run this again; if there is none then, look at "+hookPage(f, h))
		return
	}
	lost := 0
	for _, d := range list {
		if !d.Arrived() {
			lost++
		}
	}
	last := list[0]
	switch {
	case lost == 0:
		r.fine("deliveries", "the last one, %s, arrived %s ago; all of the newest %d did", last.Trigger, age(f.Now.Sub(last.At)), len(list))
	case last.Arrived():
		r.add(Warns, "deliveries", fmt.Sprintf("%d of the newest %d webhooks have not arrived; the newest one has", lost, len(list)), "nothing, if the server was away then: it reads what it has missed")
	default:
		r.add(Blocks, "deliveries", fmt.Sprintf("%d of the newest %d webhooks have not arrived; the last of them, %s, %s ago: %s", lost, len(list), last.Trigger, age(f.Now.Sub(last.At)), last.Status), whyLost(f, h, last.Status))
	}
}

// whyOff says what to do about the failures for which a webhook was switched off.
func whyOff(f GitLabFacts, h gitlab.HookFacts) string {
	for _, d := range f.Deliveries[h.ID] {
		if !d.Arrived() {
			return whyLost(f, h, d.Status) + "; "
		}
	}
	return "see why it fails: " + hookPage(f, h) + " (Recent events); "
}

func whyLost(f GitLabFacts, h gitlab.HookFacts, status string) string {
	switch status {
	case "internal error", "0", "":
		return "GitLab cannot reach " + h.URL + ": check the address, DNS, certificate and firewall"
	case "401", "403":
		return "the server has another secret than the webhook: take away the file of --gitlab-secret-file and run " + f.setup("--url URL") + ", then restart the server"
	case "404":
		return "the address is another program's: lead it to the server with " + f.setup("--url URL")
	case "413":
		return "a proxy before the server refuses large requests: let it take 25 MB"
	case "503":
		return "the server could not store it: look at its log and at Redis"
	}
	return "look at the answer in " + hookPage(f, h) + " (Recent events), and at the server's log"
}

func hookPage(f GitLabFacts, h gitlab.HookFacts) string {
	if h.Group != "" {
		return strings.TrimSuffix(f.Site, "/") + "/groups/" + h.Group + "/-/hooks"
	}
	return fmt.Sprintf("%s/-/hooks/%d/edit", strings.TrimSuffix(f.Repo.WebURL, "/"), h.ID)
}

// soon returns a remaining time in words.
func soon(d time.Duration) string {
	if d <= 0 {
		return "a moment"
	}
	return age(d)
}
