package invoice

import (
	"testing"

	"example.com/shop/cart"
	"example.com/shop/catalog"
	"example.com/shop/orders"
)

func TestRender(t *testing.T) {
	o := orders.Order{
		Number: 7, Customer: "Ada", Subtotal: 1600, Tax: 304,
		Lines: []cart.Line{{Product: catalog.Product{Name: "Tea mug", Price: 800}, Count: 2}},
	}
	want := "Invoice 7 for Ada\n2 x Tea mug 16.00\nTax 3.04\nTotal 19.04\n"
	if got := Render(o); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}
