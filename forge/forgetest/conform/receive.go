package conform

import (
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// Delivery is a webhook as the receiver gets it.
type Delivery struct {
	Header http.Header
	Body   []byte
	Resign func(body []byte) http.Header // the headers for another body, rightly signed
}

func receiver(t *testing.T, h Host) {
	for _, text := range append(hostile, queue.PlainLand) {
		d := h.Sign(text)
		if err := verify(h.Receiver, d.Header, d.Body); err != nil {
			t.Fatalf("a right signature: %v", err)
		}
		got, err := h.Receiver.Receive(d.Header, d.Body)
		if err != nil || got.ID == "" || got.Kind == "" || got.Repository == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		if again, err := h.Receiver.Receive(d.Header, d.Body); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("delivered again, it is another: %+v, %v; at first %+v", again, err, got)
		}
		found := slices.ContainsFunc(got.Events, func(e queue.Event) bool {
			c, ok := e.Body.(queue.Commented)
			return ok && c.Body == text && e.ID != ""
		})
		if !found {
			t.Errorf("the comment %q is not among %+v", text, got.Events)
		}
	}

	d := h.Sign(queue.PlainLand)
	wrong := map[string]Delivery{
		"another body":     {Header: d.Header, Body: append(slices.Clone(d.Body), ' ')},
		"no header":        {Header: http.Header{}, Body: d.Body},
		"an empty one":     {Header: emptied(d.Header), Body: d.Body},
		"a hostile header": {Header: spoilt(d.Header), Body: d.Body},
	}
	for name, d := range wrong {
		mustBe(t, name+", verified", verify(h.Receiver, d.Header, d.Body), forge.ErrSignature)
		_, err := h.Receiver.Receive(d.Header, d.Body)
		mustBe(t, name+", received", err, forge.ErrSignature)
	}
	for _, body := range []string{"", "{", "[]", `"x"`, "\x00"} {
		_, err := h.Receiver.Receive(d.Resign([]byte(body)), []byte(body))
		mustBe(t, "signed, and not to be read: "+body, err, forge.ErrMalformed)
	}
}

// verify checks a signature as the service does, before the body is read.
func verify(r forge.Receiver, header http.Header, body []byte) error {
	sum, right, err := r.Verify(header)
	if err != nil {
		return err
	}
	if _, err := sum.Write(body); err != nil {
		return err
	}
	return right()
}

func emptied(h http.Header) http.Header {
	out := h.Clone()
	for name := range out {
		out.Set(name, "")
	}
	return out
}

func spoilt(h http.Header) http.Header {
	out := h.Clone()
	for name := range out {
		out.Set(name, out.Get(name)+"\x00é")
	}
	return out
}
