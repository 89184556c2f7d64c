package discount

import (
	"testing"

	"example.com/shop/money"
)

func TestOf(t *testing.T) {
	c := Coupon{Code: "SPRING", Percent: 10, Least: money.Euros(20)}
	if got := c.Of(money.Euros(50)); got != money.Euros(5) {
		t.Errorf("10%% off 50.00 = %v", got)
	}
	if got := c.Of(money.Euros(19)); got != 0 {
		t.Errorf("below the least subtotal: %v", got)
	}
	if got := (Coupon{Percent: 300}).Of(money.Euros(1)); got != money.Euros(1) {
		t.Errorf("more than everything: %v", got)
	}
}

func TestMatches(t *testing.T) {
	c := Coupon{Code: "SPRING"}
	if !c.Matches(" spring ") || c.Matches("autumn") || (Coupon{}).Matches("") {
		t.Error("codes are compared wrongly")
	}
}
