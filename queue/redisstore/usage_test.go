package redisstore_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/redisstore"
)

func TestUsage(t *testing.T) {
	url := startRedis(t)
	s, err := redisstore.Open(t.Context(), redisstore.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.URL() != url {
		t.Errorf("URL is %q, opened was %q", s.URL(), url)
	}
	first, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	then, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := then.Commands - first.Commands; n < 200 || then.BytesIn <= first.BytesIn || then.BytesOut <= first.BytesOut {
		t.Errorf("200 commands later: %+v, before: %+v", then, first)
	}
	if then.CPU <= 0 || then.CPU < first.CPU || then.Memory <= 0 {
		t.Errorf("usage %+v, before: %+v", then, first)
	}
}
