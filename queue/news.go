package queue

import "regexp"

// News returns a hidden comment for the text of a queue's comment, before its marker. It says that
// the text is news, which people may be waiting for, and by the id of what. Forges send no mail
// about an edit, so the comment is made anew once for each id.
func News(id string) string { return "<!-- submitqueue-news:" + id + " -->" }

var news = regexp.MustCompile(`<!-- submitqueue-news:([!-~]+) -->\s*<!-- submitqueue:[!-~]+ -->\s*$`)

// NewsIn returns the id of the news that a comment's text is; "": it is none.
func NewsIn(text string) string {
	if m := news.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
