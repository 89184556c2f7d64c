package notify

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// encodeSlack makes the JSON of Slack's incoming webhooks, which other chats accept, too.
func encodeSlack(m Message, _ []byte, _ time.Time) (body []byte, header http.Header, err error) {
	text := "*" + slackText(m.Queue) + "* " + slackText(m.Text)
	if m.Change != nil {
		text += slackLink(m.Change.URL, cmp.Or(m.noun, "pull request"))
	}
	text += slackLink(m.URL, "details")
	body, err = json.Marshal(struct {
		Text  string `json:"text"`
		Links bool   `json:"unfurl_links"` // a title may contain an address: Slack is not to fetch it
		Media bool   `json:"unfurl_media"`
	}{Text: text})
	return body, nil, err
}

// slackText turns hostile text into Slack's markup that mentions nobody: mentions such
// as <!channel> begin with a <, and some chats take a plain @channel for a mention.
func slackText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace(s)
}

// slackLink is a link to a page on the web, and "" where there is none. The label is our
// own text.
func slackLink(to, label string) string {
	if to = webPage(to); to == "" {
		return ""
	}
	return " <" + strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(to) + "|" + label + ">"
}
