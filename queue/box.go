package queue

import (
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// Box is the task item in the comment of a queue by which a pull request is queued and
// taken out. People toggle it, and the forge tells of the edit (Edited).
type Box struct {
	On    bool   // it is queued
	Verb  Verb   // that checking it stands for: CommandLand or CommandRetry
	Label string // Markdown on one line
}

// String returns the line of the box in the comment.
func (b Box) String() string {
	mark := " "
	if b.On {
		mark = "x"
	}
	return "- [" + mark + "] " + b.Label + " <!-- submitqueue-box:" + string(b.Verb) + " -->"
}

// command is the line that the present state of the box stands for.
func (b Box) command() string {
	switch {
	case !b.On:
		return "/land cancel"
	case b.Verb == CommandRetry:
		return "/land retry"
	}
	return PlainLand
}

// markers finds the hidden comments of package texts that name the queue.
var markers = regexp.MustCompile(`<!-- submitqueue:[!-~]+ -->`)

// boxes finds the lines that look like a box.
var boxes = regexp.MustCompile(`(?m)^- \[([ xX])\] (.*) <!-- submitqueue-box:(land|retry) -->$`)

// Said is the text of a queue's comment, but for whether its box is checked.
type Said struct {
	Marker string `json:"marker,omitempty"` // the hidden comment that names the queue; empty: there is no such comment
	Text   Digest `json:"text,omitempty"`
}

// SaidIn returns the Said of a comment's text, and its box; a nil box: the comment has
// none. Line ends and spaces around the text do not count, as web forms change them.
func SaidIn(text string) (Said, *Box) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	var box *Box
	if all := boxes.FindAllStringSubmatchIndex(text, -1); len(all) > 0 {
		at := all[len(all)-1] // the texts of others stand before ours
		box = &Box{On: text[at[2]:at[3]] != " ", Label: text[at[4]:at[5]], Verb: Verb(text[at[6]:at[7]])}
		text = text[:at[2]] + " " + text[at[3]:]
	}
	said := Said{Text: digest.Of("said1", text)}
	if all := markers.FindAllString(text, -1); len(all) > 0 {
		said.Marker = all[len(all)-1]
	}
	return said, box
}

// Toggled returns what a comment said before an edit, and the command that the edit
// stands for: "" where it is anything but a toggle of the box.
func Toggled(from, to string) (said Said, command string) {
	said, was := SaidIn(from)
	now, is := SaidIn(to)
	if was != nil && is != nil && now == said && is.On != was.On {
		command = is.command()
	}
	return said, command
}
