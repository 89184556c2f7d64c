package orders

import (
	"errors"
	"testing"

	"example.com/shop/cart"
	"example.com/shop/catalog"
	"example.com/shop/discount"
	"example.com/shop/stock"
	"example.com/shop/tax"
)

func TestPlace(t *testing.T) {
	mug := catalog.Product{SKU: "mug-001", Price: 800, Grams: 350}
	pot := catalog.Product{SKU: "pot-001", Price: 2490, Grams: 1200}
	warehouse := stock.New()
	warehouse.Receive(mug, 10)
	book := NewBook(warehouse)

	var c cart.Cart
	if _, err := book.Place(Request{Cart: &c}); !errors.Is(err, ErrEmpty) {
		t.Errorf("placed an empty cart: %v", err)
	}
	if err := c.Add(mug, 5); err != nil {
		t.Fatal(err)
	}
	o, err := book.Place(Request{Customer: "Ada", Region: tax.Home, Coupon: discount.Coupon{Percent: 10}, Cart: &c})
	if err != nil {
		t.Fatal(err)
	}
	if o.Discount != 400 || o.Tax != 684 || o.Shipping != 590 || o.Total() != 4874 {
		t.Errorf("order = %+v, total %v", o, o.Total())
	}

	if err := c.Add(pot, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := book.Place(Request{Cart: &c}); !errors.Is(err, stock.ErrShort) {
		t.Errorf("placed what is not there: %v", err)
	}
	if left := warehouse.Left(mug); left != 5 {
		t.Errorf("%d mugs left, want 5: a failed order must put them back", left)
	}
	if all := book.All(); len(all) != 1 || all[0].Number != 1 {
		t.Errorf("book = %+v", all)
	}
}
