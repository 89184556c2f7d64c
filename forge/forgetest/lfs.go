package forgetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// LFS is a server of Git LFS like GitHub's: the batch API at <repository>/info/lfs, and
// the contents at signed addresses of another host. That host takes no second
// credential: Amazon's S3 answers 400 "Only one auth mechanism allowed" to a signed
// address with an Authorization header (git-lfs issue 2962).
type LFS struct {
	Token string // the Authorization that a repository needs if it is not open; "": all are open

	api, objects *httptest.Server
	mu           sync.Mutex
	kept         map[string][]byte // by repository and SHA-256
	open         map[string]bool
	sent         map[string]int // downloads by SHA-256
	batches      int
	busy, cut    int
	strangers    []string // Authorization headers that came to the host of the contents, where they must not
}

// NewLFS starts the two servers; Close ends them.
func NewLFS() *LFS {
	l := &LFS{kept: map[string][]byte{}, open: map[string]bool{}, sent: map[string]int{}}
	l.api = httptest.NewServer(http.HandlerFunc(l.batch))
	l.objects = httptest.NewServer(http.HandlerFunc(l.object))
	return l
}

// Close ends the servers.
func (l *LFS) Close() {
	l.api.Close()
	l.objects.Close()
}

// URL returns the address of a repository, owner/name.
func (l *LFS) URL(repository string) string { return l.api.URL + "/" + repository + ".git" }

// Open lets everybody read a repository.
func (l *LFS) Open(repository string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[repository] = true
}

// Keep keeps a content for a repository and returns its pointer.
func (l *LFS) Keep(repository string, content []byte) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := oidOf(content)
	l.kept[repository+" "+id] = content
	return LFSPointer(content)
}

// Damage replaces the bytes of a content by other bytes.
func (l *LFS) Damage(repository string, content, other []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[repository+" "+oidOf(content)] = other
}

// Busy makes the next n requests be answered with 503.
func (l *LFS) Busy(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = n
}

// Cut makes the next n downloads end in the middle.
func (l *LFS) Cut(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = n
}

// Sent returns how often a content was downloaded, whole or not.
func (l *LFS) Sent(content []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[oidOf(content)]
}

// Batches returns how many requests to the batch API were answered with 200.
func (l *LFS) Batches() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.batches
}

// Strangers returns the credentials that were shown to the host of the contents.
func (l *LFS) Strangers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers
}

// LFSPointer returns the pointer that git has in the place of a content.
func LFSPointer(content []byte) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oidOf(content), len(content))
}

func oidOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

const lfsType = "application/vnd.git-lfs+json"

// batch answers POST <repository>.git/info/lfs/objects/batch (git-lfs
// docs/api/batch.md).
func (l *LFS) batch(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	say := func(status int, body any) {
		w.Header().Set("Content-Type", lfsType)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // to a test
	}
	fail := func(status int, words string) { say(status, map[string]string{"message": words}) }
	repository, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".git/info/lfs/objects/batch")
	shown := r.Header.Get("Authorization")
	switch {
	case l.busy > 0:
		l.busy--
		fail(http.StatusServiceUnavailable, "busy")
		return
	case !ok || r.Method != http.MethodPost:
		fail(http.StatusNotFound, "Not found")
		return
	case r.Header.Get("Accept") != lfsType:
		fail(http.StatusNotAcceptable, "The Accept header needs to be "+lfsType)
		return
	case !strings.HasPrefix(r.Header.Get("Content-Type"), lfsType):
		fail(http.StatusUnsupportedMediaType, "The Content-Type header needs to be "+lfsType)
		return
	case l.Token != "" && shown != l.Token && !l.open[repository], l.open[repository] && shown != "" && shown != l.Token:
		w.Header().Set("LFS-Authenticate", `Basic realm="GitHub"`)
		fail(http.StatusUnauthorized, "Credentials needed")
		return
	}
	var asked struct {
		Operation string
		Objects   []struct {
			OID  string
			Size int64
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Operation != "download" || len(asked.Objects) == 0 || len(asked.Objects) > 100 {
		fail(http.StatusUnprocessableEntity, "Validation failed")
		return
	}
	var objects []any
	for _, o := range asked.Objects {
		answer := map[string]any{"oid": o.OID, "size": o.Size}
		if _, ok := l.kept[repository+" "+o.OID]; ok {
			answer["actions"] = map[string]any{"download": map[string]any{
				"href":       fmt.Sprintf("%s/%s/%s?X-Amz-Signature=secret", l.objects.URL, repository, o.OID),
				"expires_in": 3600}}
		} else {
			answer["error"] = map[string]any{"code": 404, "message": "Object does not exist on the server"}
		}
		objects = append(objects, answer)
	}
	l.batches++
	say(http.StatusOK, map[string]any{"transfer": "basic", "objects": objects})
}

// object answers requests for contents.
func (l *LFS) object(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := strings.LastIndexByte(r.URL.Path, '/')
	content, ok := l.kept[strings.TrimPrefix(r.URL.Path[:at], "/")+" "+r.URL.Path[at+1:]]
	switch shown := r.Header.Get("Authorization"); {
	case shown != "":
		l.strangers = append(l.strangers, shown)
		http.Error(w, "Only one auth mechanism allowed", http.StatusBadRequest)
	case r.URL.RawQuery != "X-Amz-Signature=secret":
		http.Error(w, "AccessDenied", http.StatusForbidden)
	case l.busy > 0:
		l.busy--
		http.Error(w, "SlowDown", http.StatusServiceUnavailable)
	case !ok:
		http.Error(w, "NoSuchKey", http.StatusNotFound)
	case l.cut > 0:
		l.cut--
		l.sent[r.URL.Path[at+1:]]++
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:len(content)/2]) // and the connection ends
	default:
		l.sent[r.URL.Path[at+1:]]++
		_, _ = w.Write(content) // to a test
	}
}
