// Package orders turns carts into orders.
package orders

import (
	"errors"

	"example.com/shop/cart"
	"example.com/shop/discount"
	"example.com/shop/money"
	"example.com/shop/shipping"
	"example.com/shop/stock"
	"example.com/shop/tax"
)

// ErrEmpty says that there is nothing to order.
var ErrEmpty = errors.New("orders: the cart is empty")

// Request is what a customer asks for.
type Request struct {
	Customer string
	Region   tax.Region
	Coupon   discount.Coupon
	Cart     *cart.Cart
}

// Order is a cart with everything that is paid.
type Order struct {
	Number   int
	Customer string
	Lines    []cart.Line
	Subtotal money.Amount
	Discount money.Amount
	Tax      money.Amount
	Shipping money.Amount
}

// Total returns what the customer pays.
func (o Order) Total() money.Amount { return o.Subtotal - o.Discount + o.Tax + o.Shipping }

// Book is where orders are written down.
type Book struct {
	warehouse *stock.Stock
	orders    []Order
}

// NewBook returns an empty book for a warehouse.
func NewBook(s *stock.Stock) *Book { return &Book{warehouse: s} }

// Place takes the goods out of the warehouse and writes the order down.
func (b *Book) Place(r Request) (Order, error) {
	lines := r.Cart.Lines()
	if len(lines) == 0 {
		return Order{}, ErrEmpty
	}
	for i, l := range lines {
		if err := b.warehouse.Take(l.Product, l.Count); err != nil {
			for _, taken := range lines[:i] {
				b.warehouse.Receive(taken.Product, taken.Count)
			}
			return Order{}, err
		}
	}
	o := Order{Number: len(b.orders) + 1, Customer: r.Customer, Lines: lines, Subtotal: r.Cart.Subtotal()}
	o.Discount = r.Coupon.Of(o.Subtotal)
	o.Tax = tax.Of(o.Subtotal-o.Discount, r.Region)
	o.Shipping = shipping.Cost(r.Cart.Grams())
	b.orders = append(b.orders, o)
	return o, nil
}

// All returns a copy of all orders.
func (b *Book) All() []Order { return append([]Order(nil), b.orders...) }
