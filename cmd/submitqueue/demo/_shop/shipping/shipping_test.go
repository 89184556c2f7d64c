package shipping

import (
	"testing"

	"example.com/shop/money"
)

func TestCost(t *testing.T) {
	for grams, want := range map[int]money.Amount{0: 0, 1: 390, 1000: 390, 1001: 590, 5001: 690, 7000: 790} {
		if got := Cost(grams); got != want {
			t.Errorf("Cost(%d) = %v, want %v", grams, got, want)
		}
	}
}

func TestParcels(t *testing.T) {
	for grams, want := range map[int]int{0: 0, 1: 1, Heaviest: 1, Heaviest + 1: 2} {
		if got := Parcels(grams); got != want {
			t.Errorf("Parcels(%d) = %d, want %d", grams, got, want)
		}
	}
}
