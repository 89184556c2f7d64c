package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// mostCredits bounds the trailers that name the authors of parts of a change.
const mostCredits = 100

// mergeMessage is the message of a landed commit. The queue recognises landed commits
// on main by the trailers. No title, description or name can forge them: the trailers
// are the last paragraph, and those texts are part of another paragraph, or of a line
// that begins otherwise.
func mergeMessage(w texts.Words, k queue.Pick) string {
	text, credits := k.Wording.Text, k.Wording.Credits
	if k.Revert != "" {
		return config.Unskipped(fmt.Sprintf("Revert %q", texts.ClipLine(cmp.Or(k.Title, string(k.Revert)), 150))) +
			fmt.Sprintf("\n\nThis reverts commit %s, which turned the branch red.\n", k.Revert)
	}
	if text == "" {
		text = config.Unskipped(fmt.Sprintf("Merge %s: %s", w.Numbered(k.Number), texts.ClipLine(k.Title, 200)))
	}
	if k.Method == config.MethodRebase {
		return fmt.Sprintf("Change: %s\nHead: %s\n", k.Change, k.Head) // after the last commit's own message
	}
	if credits != "" {
		credits = config.Unskipped(credits) + "\n"
	}
	return fmt.Sprintf("%s\n\n%sChange: %s\nHead: %s\n", text, credits, k.Change, k.Head)
}

// rollupMessage is the message of a merge of several changes: a line for each,
// and for each the trailers of mergeMessage.
func rollupMessage(w texts.Words, picks []queue.Pick) string {
	var names []string
	var titles, trailers strings.Builder
	for _, k := range picks {
		names = append(names, w.Numbered(k.Number))
		fmt.Fprintf(&titles, "%s: %s\n", w.Numbered(k.Number), texts.ClipLine(k.Title, 200))
		fmt.Fprintf(&trailers, "Change: %s\nHead: %s\n", k.Change, k.Head)
	}
	last := len(names) - 1
	return fmt.Sprintf("Merge %s and %s\n\n%s\n%s", strings.Join(names[:last], ", "), names[last], config.Unskipped(titles.String()), trailers.String())
}

// creditsOf returns the author of a pull request's commits taken together, and the
// trailers that name the other authors and keep the sign-offs. The author is the author of
// the pull request, where one of the commits has the address that the forge gives that
// user. Else it is the author of the first commit.
func creditsOf(own []mirror.OwnCommit, login string) (author string, trailers []string) {
	named := map[string]bool{}
	var others, signed []string
	add := func(list *[]string, who string) {
		if at := strings.ToLower(who[strings.LastIndexByte(who, '<'):]); !named[at] {
			named[at] = true
			*list = append(*list, who)
		}
	}
	for _, c := range own {
		if who := authorOf(c.Name, c.Address); who != "" && len(c.Parents) < 2 {
			if author == "" || isLogin(c.Address, login) && !isLogin(author, login) {
				author = who
			}
			add(&others, who)
		}
	}
	for _, c := range own {
		for _, value := range c.Trailers("Co-authored-by") {
			name, rest, ok := strings.Cut(value, "<")
			address, _, closed := strings.Cut(rest, ">")
			if who := authorOf(name, address); ok && closed && who != "" {
				add(&others, who)
			}
		}
		for _, value := range c.Trailers("Signed-off-by") {
			if line := texts.ClipLine(value, 300); len(signed) < mostCredits && !slices.Contains(signed, line) {
				signed = append(signed, line)
			}
		}
	}
	for _, who := range others {
		if author == "" || !strings.EqualFold(who[strings.LastIndexByte(who, '<'):], author[strings.LastIndexByte(author, '<'):]) {
			trailers = append(trailers, "Co-authored-by: "+who)
		}
	}
	for _, who := range signed {
		trailers = append(trailers, "Signed-off-by: "+who)
	}
	return author, trailers[:min(len(trailers), mostCredits)]
}

// authorOf is mirror.AuthorOf of names and addresses of any length.
func authorOf(name, address string) string {
	return mirror.AuthorOf(texts.ClipLine(name, 100), texts.ClipLine(address, 200))
}

// isLogin reports whether an address is the one that GitHub gives a user:
// LOGIN@users.noreply.HOST, or ID+LOGIN@users.noreply.HOST.
func isLogin(address, login string) bool {
	if at := strings.LastIndexByte(address, '<'); at >= 0 {
		address = strings.TrimSuffix(address[at+1:], ">")
	}
	user, host, ok := strings.Cut(address, "@")
	if _, after, found := strings.Cut(user, "+"); found {
		user = after
	}
	return ok && login != "" && strings.HasPrefix(host, "users.noreply.") && strings.EqualFold(user, login)
}
