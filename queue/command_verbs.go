package queue

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/spell"
)

// hasVerb reports whether /land is followed by a verb of this file.
func hasVerb(words []string) bool {
	if len(words) < 2 {
		return false
	}
	switch Verb(strings.ToLower(words[1])) {
	case CommandNow, CommandDelegate, CommandUndelegate:
		return true
	}
	return false
}

// parseVerb reads such a verb and what is behind it.
func parseVerb(words []string) (Command, bool) {
	c, rest := Command{Verb: Verb(strings.ToLower(words[0]))}, words[1:]
	if c.Verb == CommandNow {
		c.Text = spell.Clip(strings.Join(rest, " "), 200)
		return c, c.Text != ""
	}
	if len(rest) > 1 || len(rest) == 0 && c.Verb == CommandDelegate {
		return c, false
	}
	if len(rest) == 1 {
		c.User = strings.TrimPrefix(rest[0], "@")
		if !regexp.MustCompile(config.UserPattern).MatchString(c.User) || len(c.User) > 60 {
			return c, false
		}
	}
	return c, true
}

// Bounds of a freeze.
const (
	leastFreeze = time.Minute
	mostFreeze  = 90 * 24 * time.Hour
)

// ParseUntil reads until when something lasts, counted from now, and returns the
// words behind it. It takes a duration ("90m", "2h30m", "3d"), a time of the day
// ("18:00", the next one), a date ("2026-12-24"), and both ("2026-12-24 18:00",
// "2026-12-24T18:00Z"); times are UTC, unless they have an offset. ok is false
// where the words begin with none of these; whether the moment has passed is the
// caller's to see.
func ParseUntil(words []string, now Instant) (until Instant, rest []string, ok bool) {
	if len(words) == 0 {
		return 0, nil, false
	}
	defer func() {
		if ok && len(rest) > 0 && strings.EqualFold(rest[0], "UTC") {
			rest = rest[1:]
		}
	}()
	first := strings.ToUpper(words[0])
	if d, ok := span(strings.ToLower(words[0])); ok {
		return now.Add(d), words[1:], d >= leastFreeze && d <= mostFreeze
	}
	clock := strings.TrimSuffix(strings.TrimSuffix(first, "UTC"), "Z")
	if t, err := time.Parse("15:04", clock); err == nil {
		day := now.Time().Truncate(24 * time.Hour)
		at := At(day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute))
		if at <= now {
			at = at.Add(24 * time.Hour)
		}
		return at, words[1:], true
	}
	if len(words) > 1 {
		clock := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(words[1]), "UTC"), "Z")
		if t, err := time.Parse("2006-01-02 15:04", first+" "+clock); err == nil {
			return At(t), words[2:], true
		}
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", time.RFC3339} {
		if t, err := time.Parse(layout, first); err == nil {
			return At(t), words[1:], true
		}
	}
	return 0, nil, false
}

// span reads a duration, which may be in days.
func span(word string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(word, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n > 0 && n <= 1000
	}
	d, err := time.ParseDuration(word)
	return d, err == nil
}

// FreezeUntil returns when a freeze that was asked for at a moment ends, and why
// it was asked for; false where that is not within the next 90 days.
func FreezeUntil(text string, at Instant) (until Instant, why string, ok bool) {
	until, rest, ok := ParseUntil(strings.Fields(text), at)
	return until, strings.Join(rest, " "), ok && until > at && until.Sub(at) <= mostFreeze
}
