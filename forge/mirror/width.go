package mirror

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// width is how many refs the remote takes in one push. GitHub's setting "Limit how many branches
// and tags can be updated in a single push" applies to everybody, and no interface tells it: it
// is learned from the refusal, and kept beside the mirror.
// https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/managing-repository-settings/limiting-the-number-of-branches-and-tags-that-can-be-updated-in-a-single-push
type width struct {
	path string

	mu    sync.Mutex
	read  bool // the stored limit has been read
	most  int  // 0: as many as there are
	since time.Time
}

// widthLasts is how long a limit is used. One refused push per day is cheap; a limit
// that somebody has lifted must not slow down pushes for ever.
const widthLasts = 24 * time.Hour

func newWidth(dir string) *width { return &width{path: filepath.Join(dir, "refs-per-push")} }

// limitWords match the refusal that ejoffe/spr#422 quotes.
var limitWords = regexp.MustCompile(`(?i)can(?:\s?not|'t) update more than (\d+) branch`)

// learn reads a limit from the remote's answer to a push of so many refs, and says
// whether the remote takes fewer. A limit that cannot be stored is learned again after
// a restart.
func (w *width) learn(stderr string, refs int) (narrower bool) {
	most, ok := limitIn(stderr, refs)
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read, w.most, w.since = true, most, time.Now()
	next := w.path + ".tmp"
	if os.WriteFile(next, []byte(strconv.Itoa(most)+"\n"), 0o644) == nil {
		_ = os.Rename(next, w.path)
	}
	return true
}

// limitIn finds a limit in the remote's answer to a push of so many refs. A limit that
// the push has kept does not count.
func limitIn(stderr string, refs int) (most int, ok bool) {
	found := limitWords.FindStringSubmatch(remoteWords(stderr))
	if found == nil {
		return 0, false
	}
	most, err := strconv.Atoi(found[1])
	return most, err == nil && most >= 1 && most < refs
}

// fits returns how many of so many refs go in the next push.
func (w *width) fits(refs int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.read {
		w.read = true
		text, _ := os.ReadFile(w.path)
		info, err := os.Stat(w.path)
		if n, bad := strconv.Atoi(strings.TrimSpace(string(text))); bad == nil && err == nil && n > 0 {
			w.most, w.since = n, info.ModTime()
		}
	}
	if w.most == 0 || time.Since(w.since) > widthLasts {
		return refs
	}
	return min(w.most, refs)
}
