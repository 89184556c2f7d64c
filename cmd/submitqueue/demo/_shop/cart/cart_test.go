package cart

import (
	"errors"
	"testing"

	"example.com/shop/catalog"
)

func TestAdd(t *testing.T) {
	tea := catalog.Product{SKU: "tea-001", Price: 450, Grams: 100}
	mug := catalog.Product{SKU: "mug-001", Price: 800, Grams: 350}
	var c Cart
	for _, p := range []catalog.Product{tea, mug, tea} {
		if err := c.Add(p, 2); err != nil {
			t.Fatal(err)
		}
	}
	if lines := c.Lines(); len(lines) != 2 || lines[0].Count != 4 {
		t.Errorf("lines = %+v", lines)
	}
	if got := c.Subtotal(); got != 3400 {
		t.Errorf("subtotal = %v", got)
	}
	if got := c.Grams(); got != 1100 {
		t.Errorf("grams = %d", got)
	}
	if err := c.Add(tea, 0); !errors.Is(err, ErrCount) {
		t.Errorf("added nothing: %v", err)
	}
}
