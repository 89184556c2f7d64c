package queue

import "regexp"

// News returns a hidden line for the text of a queue's comment, right before its marker: the text is
// news that the subscribers of the pull request are to get mail of. The id, of printing characters
// without blanks, tells one piece of news from another. Forges send no mail about an edit, so the
// comment is made anew once for each id.
func News(id string) string { return "<!-- submitqueue-news:" + id + " -->" }

var news = regexp.MustCompile(`<!-- submitqueue-news:([!-~]+) -->\s*<!-- submitqueue:[!-~]+ -->\s*$`)

// NewsIn returns the id of the news in a comment's text; "": there is none.
func NewsIn(text string) string {
	if m := news.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
