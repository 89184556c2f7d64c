package tax

import (
	"testing"

	"example.com/shop/money"
)

func TestOf(t *testing.T) {
	for region, want := range map[Region]money.Amount{Home: 1900, Union: 2100, World: 0} {
		if got := Of(money.Euros(100), region); got != want {
			t.Errorf("tax of 100.00 in %s = %v, want %v", region, got, want)
		}
	}
}
