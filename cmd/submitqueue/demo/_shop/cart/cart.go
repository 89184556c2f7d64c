// Package cart is what a customer has picked.
package cart

import (
	"errors"

	"example.com/shop/catalog"
	"example.com/shop/money"
)

// ErrCount says that nobody can pick so many.
var ErrCount = errors.New("cart: count must be positive")

// Line is some of one product.
type Line struct {
	Product catalog.Product
	Count   int
}

// Total returns what the line costs.
func (l Line) Total() money.Amount { return l.Product.Price.Times(l.Count) }

// Cart is a list of lines, one per product, in the order they were picked.
type Cart struct {
	lines []Line
}

// Add puts some of a product into the cart.
func (c *Cart) Add(p catalog.Product, count int) error {
	if count <= 0 {
		return ErrCount
	}
	for i := range c.lines {
		if c.lines[i].Product.SKU == p.SKU {
			c.lines[i].Count += count
			return nil
		}
	}
	c.lines = append(c.lines, Line{Product: p, Count: count})
	return nil
}

// Lines returns a copy of the cart's lines.
func (c *Cart) Lines() []Line { return append([]Line(nil), c.lines...) }

// Subtotal returns what everything in the cart costs.
func (c *Cart) Subtotal() money.Amount {
	var sum money.Amount
	for _, l := range c.lines {
		sum += l.Total()
	}
	return sum
}

// Grams returns what everything in the cart weighs.
func (c *Cart) Grams() int {
	sum := 0
	for _, l := range c.lines {
		sum += l.Product.Grams * l.Count
	}
	return sum
}
