package catalog

import (
	"errors"
	"os"
	"testing"
)

func load(t *testing.T) *Catalog {
	t.Helper()
	text, err := os.ReadFile("testdata/products.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFind(t *testing.T) {
	c := load(t)
	p, err := c.Find("pot-001")
	if err != nil || p.Price != 2490 || p.Grams != 1200 {
		t.Errorf("Find(pot-001) = %+v, %v", p, err)
	}
	if _, err := c.Find("pot-999"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Find(pot-999): %v, want ErrUnknown", err)
	}
}

func TestSearch(t *testing.T) {
	found := load(t).Search("TEA")
	if len(found) != 4 || found[0].SKU != "mug-001" {
		t.Errorf("Search(TEA) = %+v", found)
	}
}

func TestLoadRefusesBadLines(t *testing.T) {
	for _, text := range []string{"a|b|1.00", "a|b|free|1", "a|b|1.00|heavy"} {
		if _, err := Load(text); err == nil {
			t.Errorf("Load(%q) worked", text)
		}
	}
}
