package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

type noteKey struct {
	number int
	marker string
}

// noteLimit is how many characters a note or a description may have.
const noteLimit = 1_000_000

// unseen is put before a slash that begins a line: people do not see it, and GitLab does
// not take the line for a quick action, which it would execute with our rights.
const unseen = "\u200b"

// quiet makes a text safe to write: none of its lines is a quick action. Code blocks are
// no exception, since GitLab may find their end elsewhere than we do.
func quiet(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	var out strings.Builder
	start := true // only blanks since the line began
	for _, r := range text {
		if r == '/' && start {
			out.WriteString(unseen)
		}
		out.WriteRune(r)
		switch r {
		case '\n', '\r', '\u2028', '\u2029', '\v', '\f', '\u0085':
			start = true
		case ' ', '\t':
		default:
			start = false
		}
	}
	return out.String()
}

// Comment makes our note that carries marker say body; a body that does not contain the
// marker gets it at its end. A body too long for GitLab is cut. GitLab sends mail for a new
// note, and none for an edit, so news (queue.NewsIn) is a new note in place of ours.
func (f *Forge) Comment(ctx context.Context, number int, marker, body string) error {
	body = quiet(body)
	if cut := truncate(body, noteLimit-utf8.RuneCountInString(marker)-2); cut != body || !strings.Contains(body, marker) {
		body = cut + "\n\n" + marker
	}
	defer f.lock(fmt.Sprint("note ", number, marker))()
	return failure(ctx, fmt.Sprintf("comment on merge request %d", number), f.comment(ctx, noteKey{number, marker}, body))
}

func (f *Forge) comment(ctx context.Context, key noteKey, body string) error {
	id, err := f.project(ctx)
	if err != nil {
		return err
	}
	counted, err := f.makeRoom(ctx, id, key, queue.NewsIn(body))
	if err != nil {
		return err
	}
	note, known := recall(f, f.notes, key)
	for {
		if !known {
			if note, _, err = f.findNote(ctx, id, key); err != nil {
				return err
			}
		}
		if note == 0 {
			break
		}
		_, _, err := f.client.Notes.UpdateMergeRequestNote(id, key.number, note, &gitlab.UpdateMergeRequestNoteOptions{Body: &body}, gitlab.WithContext(ctx))
		if !errors.Is(err, gitlab.ErrNotFound) {
			if err == nil {
				remember(f, f.notes, key, note)
			}
			return err
		}
		forget(f, f.notes, key)
		if !known {
			break // deleted since we found it
		}
		known = false
	}
	if !counted {
		if err := f.pace.note(time.Now()); err != nil {
			return err
		}
	}
	made, _, err := f.client.Notes.CreateMergeRequestNote(id, key.number, &gitlab.CreateMergeRequestNoteOptions{Body: &body}, gitlab.WithContext(ctx))
	if err != nil {
		return err
	}
	if made.ID == 0 {
		return errors.New("GitLab has taken the note for commands and has not kept it")
	}
	remember(f, f.notes, key, made.ID)
	return nil
}

// makeRoom deletes our note before one that is news, unless it is that news already, and reports
// whether the new one is counted: while GitLab takes none, the old one stays. A note that GitLab
// does not let us delete stays, and is edited: to be told without mail is better than not to be told.
func (f *Forge) makeRoom(ctx context.Context, id int, key noteKey, news string) (counted bool, err error) {
	if told, _ := recall(f, f.told, key); news == "" || told == news {
		return false, nil
	}
	old, text, err := f.findNote(ctx, id, key)
	if err != nil {
		return false, err
	}
	if counted = old != 0 && queue.NewsIn(text) != news; counted {
		if err := f.pace.note(time.Now()); err != nil {
			return false, err
		}
		_, err := f.client.Notes.DeleteMergeRequestNote(id, key.number, old, gitlab.WithContext(ctx))
		if refused := failure(ctx, "delete a note", err); errors.Is(refused, forge.ErrForbidden) {
			f.log.Warn("news is told by an edit, of which GitLab sends no mail", "merge request", key.number, "error", refused)
			return false, nil
		}
		if err != nil && !errors.Is(err, gitlab.ErrNotFound) {
			return false, err
		}
		forget(f, f.notes, key)
	}
	remember(f, f.told, key, news)
	return counted, nil
}

// findNote searches for our note with the marker, and returns its text, too; 0: there is
// none. A note of somebody else that quotes the marker is not ours.
func (f *Forge) findNote(ctx context.Context, id int, key noteKey) (found int, text string, err error) {
	me, err := f.me(ctx)
	if err != nil {
		return 0, "", err
	}
	err = f.eachNote(ctx, id, key.number, func(n *gitlab.Note) bool {
		if n.Author.ID == me.ID && !n.System && strings.Contains(n.Body, key.marker) {
			found, text = n.ID, n.Body
		}
		return found == 0
	})
	return found, text, err
}

// eachNote calls more with the notes of a merge request, the newest first, until it
// returns false.
func (f *Forge) eachNote(ctx context.Context, id, number int, more func(*gitlab.Note) bool) error {
	o := &gitlab.ListMergeRequestNotesOptions{OrderBy: gitlab.Ptr("created_at"), Sort: gitlab.Ptr("desc")}
	return all(func(page gitlab.ListOptions) ([]*gitlab.Note, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.Notes.ListMergeRequestNotes(id, number, o, gitlab.WithContext(ctx))
	}, more)
}

// React awards an emoji to a note. GitLab refuses the same emoji a second time, by the
// same answer as for a note that is gone.
func (f *Forge) React(ctx context.Context, number int, comment string, r forge.Reaction) error {
	doing := fmt.Sprintf("acknowledge note %.40q", comment)
	note, err := strconv.Atoi(comment)
	if err != nil || note <= 0 {
		return fmt.Errorf("gitlab: %s: %w: its id is not a number", doing, forge.ErrNotFound)
	}
	id, err := f.project(ctx)
	if err != nil {
		return failure(ctx, doing, err)
	}
	_, _, err = f.client.AwardEmoji.CreateMergeRequestAwardEmojiOnNote(id, number, note, &gitlab.CreateAwardEmojiOptions{Name: string(r)}, gitlab.WithContext(ctx))
	if code := status(err); code != http.StatusNotFound && code != http.StatusBadRequest {
		return failure(ctx, doing, err)
	}
	list, _, err := f.client.AwardEmoji.ListMergeRequestAwardEmojiOnNote(id, number, note, &gitlab.ListAwardEmojiOptions{PerPage: hundred}, gitlab.WithContext(ctx))
	if err != nil {
		return failure(ctx, doing, err)
	}
	me, err := f.me(ctx)
	if err != nil {
		return failure(ctx, doing, err)
	}
	for _, a := range list {
		if a.Name == string(r) && a.User.ID == me.ID {
			return nil
		}
	}
	return fmt.Errorf("gitlab: %s: GitLab does not take the emoji %q, and does not have it", doing, r)
}

// truncate cuts a text to a number of characters and says so.
func truncate(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	const note = "\n\n… (cut)"
	return string([]rune(s)[:limit-utf8.RuneCountInString(note)]) + note
}
