package queue

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/spell"
)

// takesLaneAndMethod, takesLane and takesMethod read options, each at most once.
func takesLaneAndMethod(c *Command, rest []string) bool {
	return options(rest, map[string]*string{"priority": &c.Lane, "method": &c.Method})
}

func takesLane(c *Command, rest []string) bool {
	return options(rest, map[string]*string{"priority": &c.Lane})
}

func takesMethod(c *Command, rest []string) bool {
	return options(rest, map[string]*string{"method": &c.Method})
}

// options reads words NAME=VALUE, in any case of letters.
func options(words []string, into map[string]*string) bool {
	for _, w := range words {
		name, value, _ := strings.Cut(strings.ToLower(w), "=")
		if into[name] == nil || *into[name] != "" || value == "" {
			return false
		}
		*into[name] = spell.Clip(value, 40)
	}
	return true
}

// takesText reads words for people, which may be none.
func takesText(c *Command, rest []string) bool {
	c.Text = spell.Clip(strings.Join(rest, " "), 200)
	return true
}

// takesReason reads words for people.
func takesReason(c *Command, rest []string) bool { return takesText(c, rest) && c.Text != "" }

// takesAnything ignores the text behind the command.
func takesAnything(*Command, []string) bool { return true }

// takesUser reads a user's name.
func takesUser(c *Command, rest []string) bool { return len(rest) == 1 && takesUserOrNone(c, rest) }

func takesUserOrNone(c *Command, rest []string) bool {
	if len(rest) == 0 {
		return true
	}
	c.User = strings.TrimPrefix(rest[0], "@")
	return len(rest) == 1 && len(c.User) <= 60 && regexp.MustCompile(config.UserPattern).MatchString(c.User)
}

// takesUntil reads the end of a freeze, and the reason for it.
func takesUntil(c *Command, rest []string) bool {
	_, _, ok := ParseUntil(rest, 0)
	return ok && takesText(c, rest)
}

// takesForgotten reads what is to be verified again.
func takesForgotten(c *Command, rest []string) bool {
	f, ok := ParseForgotten(strings.Join(rest, " "))
	c.Text = f.String()
	return ok
}

// Words that a command about models accepts in place of a version.
const (
	ModelNone   = "none"   // none is used
	ModelNewest = "newest" // the newest that is better than none is used, as long as nobody says otherwise
	ModelLearn  = "learn"  // a new one is made
)

// takesModel reads which model is meant.
func takesModel(c *Command, rest []string) bool {
	if len(rest) != 1 {
		return false
	}
	switch word := strings.ToLower(rest[0]); word {
	case ModelNone, ModelNewest, ModelLearn:
		c.Text = word
		return true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest[0], "v"))
	c.Text = strconv.Itoa(n)
	return err == nil && n > 0
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
// where the words begin with none of these; the caller checks whether the moment
// has passed.
func ParseUntil(words []string, now Instant) (until Instant, rest []string, ok bool) {
	if len(words) == 0 {
		return 0, nil, false
	}
	defer func() {
		if ok && len(rest) > 0 && (strings.EqualFold(rest[0], "UTC") || strings.EqualFold(rest[0], "GMT")) {
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

// otherClock finds a word that has the time before it read by another clock than UTC's. Names of
// two letters are words, too, unless they are capitals.
var otherClock = regexp.MustCompile(`^(?:(?i:UTC|GMT)?[+-][0-9]{1,2}(?::?[0-9]{2})?|[ECMP]T|` +
	`(?i:[ap]\.?m\.?|local|CES?T|MES?Z|[WE]ES?T|BST|MSK|TRT|SAST|IST|PKT|SGT|HKT|JST|KST|A[CEW][SD]T|NZ[SD]T|BRT|AK[SD]T|HST|[ECMP][SD]T|` +
	`(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific|US)/[a-z_/]+))$`)

// FreezeUntil returns when a freeze that was asked for at a moment ends, and why
// it was asked for; false where that is not within the next 90 days, or not said in UTC.
func FreezeUntil(text string, at Instant) (until Instant, why string, ok bool) {
	words := strings.Fields(text)
	until, rest, ok := ParseUntil(words, at)
	if ok && len(rest) > 0 && otherClock.MatchString(strings.Trim(rest[0], "()[],.:;")) {
		_, ok = span(strings.ToLower(words[0])) // behind a duration, it is a word of the reason
	}
	return until, strings.Join(rest, " "), ok && until > at && until.Sub(at) <= mostFreeze
}
