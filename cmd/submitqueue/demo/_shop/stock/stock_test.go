package stock

import (
	"errors"
	"testing"

	"example.com/shop/catalog"
)

func TestTake(t *testing.T) {
	mug := catalog.Product{SKU: "mug-001"}
	s := New()
	s.Receive(mug, 3)
	if err := s.Take(mug, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Take(mug, 2); !errors.Is(err, ErrShort) {
		t.Errorf("took more than there was: %v", err)
	}
	if got := s.Left(mug); got != 1 {
		t.Errorf("%d left, want 1", got)
	}
}
