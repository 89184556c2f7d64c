package report

import (
	"strings"
	"testing"

	"example.com/shop/cart"
	"example.com/shop/catalog"
	"example.com/shop/orders"
)

func sample() []orders.Order {
	tea, mug := catalog.Product{SKU: "tea-001"}, catalog.Product{SKU: "mug-001"}
	return []orders.Order{
		{Subtotal: 1000, Discount: 100, Tax: 171, Lines: []cart.Line{{Product: tea, Count: 2}}},
		{Subtotal: 500, Lines: []cart.Line{{Product: mug, Count: 1}, {Product: tea, Count: 1}}},
	}
}

func TestRevenue(t *testing.T) {
	if got := Revenue(sample()); got != 1400 {
		t.Errorf("revenue = %v", got)
	}
}

func TestSellers(t *testing.T) {
	if got := strings.Join(Sellers(sample()), " "); got != "tea-001 mug-001" {
		t.Errorf("sellers = %s", got)
	}
}
