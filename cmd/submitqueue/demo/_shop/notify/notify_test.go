package notify

import (
	"testing"

	"example.com/shop/cart"
	"example.com/shop/catalog"
	"example.com/shop/orders"
)

func TestConfirm(t *testing.T) {
	m := Confirm(orders.Order{Number: 3, Customer: "Chen", Lines: []cart.Line{
		{Product: catalog.Product{Name: "Green tea"}, Count: 1},
		{Product: catalog.Product{Name: "Tea mug"}, Count: 2},
	}})
	want := Message{To: "Chen", Subject: "Your order 3", Body: "We pack for you: 1 x Green tea, 2 x Tea mug."}
	if m != want {
		t.Errorf("got %+v, want %+v", m, want)
	}
}
