package intake

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge/github"
)

// What is read of bodies takes no more than the room for all of them, is refused beyond
// it, comes back as it was, and gives its room back.
func TestBodiesAreBounded(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		of := &bodies{dir: dir, memory: budget{most: 100 << 10}, disk: budget{most: 300 << 10}, large: make(chan struct{}, 1)}
		type one struct {
			held *body
			want []byte
			over bool
		}
		var open []one
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch {
			case len(open) == 0 || rapid.IntRange(0, 4).Draw(rt, "what") == 0:
				open = append(open, one{held: &body{of: of}})
			case rapid.IntRange(0, 6).Draw(rt, "what") == 0:
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				if got, err := open[i].held.read(t.Context()); !open[i].over && (err != nil || !bytes.Equal(got, open[i].want)) {
					rt.Fatalf("%d bytes came back, %v, of %d", len(got), err, len(open[i].want))
				}
				open[i].held.close()
				open = append(open[:i], open[i+1:]...)
			default:
				o := &open[rapid.IntRange(0, len(open)-1).Draw(rt, "which")]
				part := bytes.Repeat([]byte{byte(rapid.IntRange(0, 255).Draw(rt, "of"))}, rapid.IntRange(0, 50<<10).Draw(rt, "size"))
				n, err := o.held.Write(part)
				if o.want = append(o.want, part[:n]...); err != nil {
					o.over = true
					if err != errBusy || of.disk.used+int64(len(part)) <= of.disk.most {
						rt.Fatalf("%v with %d of %d in use", err, of.disk.used, of.disk.most)
					}
				}
			}
			inMemory := int64(0)
			for _, o := range open {
				inMemory += int64(o.held.first.Cap())
			}
			if of.memory.used > of.memory.most || of.disk.used > of.disk.most || inMemory > 2*of.memory.most {
				rt.Fatalf("%d in memory, booked %d, on disk %d", inMemory, of.memory.used, of.disk.used)
			}
		}
		for _, o := range open {
			o.held.close()
		}
		if of.memory.used != 0 || of.disk.used != 0 || len(of.large) != 0 {
			rt.Fatalf("kept: %d in memory, %d on disk, %d large", of.memory.used, of.disk.used, len(of.large))
		}
	})
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, http.ErrBodyReadAfterClose
}

func newDoor(secret string) *Intake {
	return New(Options{Hooks: map[string]Hook{"github": {Receiver: github.NewReceiver(secret)}}, Metrics: uncounted{}, Now: time.Now})
}

// An unsigned request is refused before its body is read.
func TestUnsignedBodyIsNotRead(t *testing.T) {
	for name, signature := range map[string]string{"none": "", "another kind": "sha1=" + strings.Repeat("0", 40), "no hexadecimal": "sha256=" + strings.Repeat("x", 64),
		"too short": "sha256=00", "too long": "sha256=" + strings.Repeat("00", 33)} {
		t.Run(name, func(t *testing.T) {
			in := newDoor("secret")
			r := httptest.NewRequest(http.MethodPost, "/webhook", unread{t})
			r.Header.Set("X-Hub-Signature-256", signature)
			w := httptest.NewRecorder()
			if in.ServeHTTP(w, r); w.Code != http.StatusUnauthorized || w.Header().Get("Connection") != "close" {
				t.Errorf("answered %d, %v", w.Code, w.Header())
			}
		})
	}
}

// held is a body that comes in two halves, the second when it is let.
type held struct {
	first  *strings.Reader
	begun  chan<- struct{}
	second <-chan struct{}
	told   sync.Once
}

func (h *held) Read(p []byte) (int, error) {
	if h.first.Len() > 0 {
		return h.first.Read(p)
	}
	h.told.Do(func() { h.begun <- struct{}{} })
	<-h.second
	return 0, http.ErrBodyReadAfterClose
}

// While wrongly signed bodies take all the room there is, others are told when to come
// again; after that there is room again.
func TestIntakeIsBusy(t *testing.T) {
	in := newDoor("secret")
	in.bodies = &bodies{dir: t.TempDir(), memory: budget{most: 64 << 10}, disk: budget{most: 1 << 20}, large: make(chan struct{}, 1)}
	post := func(body *http.Request) *httptest.ResponseRecorder {
		body.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("00", 32))
		w := httptest.NewRecorder()
		in.ServeHTTP(w, body)
		return w
	}
	begun, second := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			post(httptest.NewRequest(http.MethodPost, "/webhook", &held{first: strings.NewReader(strings.Repeat("x", 250<<10)), begun: begun, second: second}))
		})
		<-begun
	}
	for range 3 {
		w := post(httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(strings.Repeat("x", 200<<10))))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), resultBusy) {
			t.Errorf("answered %d, %s", w.Code, w.Body)
		}
	}
	close(second)
	wg.Wait()
	if w := post(httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(strings.Repeat("x", 200<<10)))); w.Code != http.StatusUnauthorized {
		t.Errorf("with room again: %d", w.Code)
	}
	if in.bodies.memory.used != 0 || in.bodies.disk.used != 0 {
		t.Errorf("kept: %d, %d", in.bodies.memory.used, in.bodies.disk.used)
	}
}

// A disk that is full loses no small delivery, and says of a large one that it is to be
// sent again.
func TestIntakeWithoutADisk(t *testing.T) {
	in := newDoor("secret")
	in.bodies.dir = fmt.Sprint(t.TempDir(), "/gone")
	for size, want := range map[int]int{10 << 10: http.StatusUnauthorized, 1 << 20: http.StatusServiceUnavailable} {
		r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(strings.Repeat("x", size)))
		r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("00", 32))
		w := httptest.NewRecorder()
		if in.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%d bytes: %d, want %d", size, w.Code, want)
		}
	}
}

type uncounted struct{}

func (uncounted) RecordWebhook(string, string) {}

func (uncounted) RecordStoreError(string) {}

func (uncounted) SetSpool(int) {}
