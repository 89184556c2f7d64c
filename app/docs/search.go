package docs

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Bounds of a search.
const (
	mostWords = 10
	mostHits  = 30
	around    = 180 // letters of a section that a hit shows
)

// Hit is a section that has all words of a search.
type Hit struct {
	Section
	Of      string // title of its page
	Excerpt string // of its text, around the first word that was found
}

// Search returns the sections that have all words of q, in any case of letters and also as
// beginnings of longer words. The best sections come first: a word in a title counts for
// more than one in the text. It returns at most 30, and none where q has no letter and no
// digit.
func Search(q string) []Hit {
	words := wordsOf(q)
	if len(words) == 0 {
		return nil
	}
	words = words[:min(len(words), mostWords)]
	type scored struct {
		hit   Hit
		score int
	}
	var found []scored
	for _, p := range All() {
		for _, s := range p.Sections {
			if score := s.score(p, words); score > 0 {
				found = append(found, scored{Hit{Section: s, Of: p.Title, Excerpt: s.excerpt(words)}, score})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	hits := make([]Hit, 0, min(len(found), mostHits))
	for _, f := range found[:min(len(found), mostHits)] {
		hits = append(hits, f.hit)
	}
	return hits
}

// score says how well a section answers; 0 where it lacks a word.
func (s Section) score(p Page, words []string) int {
	title, page, text := " "+strings.Join(wordsOf(s.Title), " "), " "+strings.Join(wordsOf(p.Title), " "), " "+strings.Join(wordsOf(s.Text), " ")
	score := 0
	for _, w := range words {
		at := strings.Count(text, " "+w)
		switch {
		case strings.Contains(title, " "+w):
			score += 20 + min(at, 3)
		case at > 0:
			score += min(at, 3)
		case strings.Contains(page, " "+w):
			score++
		default:
			return 0
		}
	}
	return score
}

// excerpt returns a part of a section's text with the first word that stands in it.
func (s Section) excerpt(words []string) string {
	text := []rune(s.Text)
	lower := []rune(strings.ToLower(s.Text))
	from := 0
	if len(lower) == len(text) {
		for _, w := range words {
			if at := strings.Index(string(lower), w); at >= 0 {
				from = len([]rune(string(lower)[:at]))
				break
			}
		}
	}
	from = max(0, min(from-around/3, len(text)-around))
	to := min(from+around, len(text))
	out := strings.TrimSpace(string(text[from:to]))
	if from > 0 {
		out = "… " + out
	}
	if to < len(text) {
		out += " …"
	}
	return out
}

// small are words that do not help a search.
var small = map[string]bool{"a": true, "an": true, "the": true, "is": true, "are": true, "my": true, "i": true, "how": true, "do": true, "does": true, "why": true, "what": true, "to": true, "of": true, "it": true, "in": true}

// wordsOf returns the words of a text in small letters, without those of small.
func wordsOf(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	return slices.DeleteFunc(all, func(w string) bool { return small[w] })
}
