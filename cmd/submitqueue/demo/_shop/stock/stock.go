// Package stock counts what is in the warehouse.
package stock

import (
	"errors"

	"example.com/shop/catalog"
)

// ErrShort says that there is not enough of a product.
var ErrShort = errors.New("stock: not enough left")

// Stock is how many there are of each product.
type Stock struct {
	left map[string]int
}

// New returns an empty warehouse.
func New() *Stock { return &Stock{left: map[string]int{}} }

// Receive adds n of a product.
func (s *Stock) Receive(p catalog.Product, n int) { s.left[p.SKU] += n }

// Left returns how many there are of a product.
func (s *Stock) Left(p catalog.Product) int { return s.left[p.SKU] }

// Take removes n of a product.
func (s *Stock) Take(p catalog.Product, n int) error {
	if s.left[p.SKU] < n {
		return ErrShort
	}
	s.left[p.SKU] -= n
	return nil
}
