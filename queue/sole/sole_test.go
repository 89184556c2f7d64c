package sole_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/submitqueue/submitqueue/queue/sole"
)

// A folder is of one holder at a time, who is named to the next one, and free once that one leaves.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	first, err := sole.Take(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	var taken *sole.Taken
	if _, err := sole.Take(hurry, dir); !errors.As(err, &taken) || taken.Dir != dir || taken.Process != strconv.Itoa(os.Getpid()) {
		t.Errorf("of the second: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sole.Take(t.Context(), dir)
	if err != nil {
		t.Fatalf("once it is free: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sole.Take(t.Context(), dir+"/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no folder: %v", err)
	}
}
