// Package catalog knows the products.
package catalog

import (
	"errors"
	"sort"
	"strconv"
	"strings"

	"example.com/shop/money"
)

// ErrUnknown says that there is no such product.
var ErrUnknown = errors.New("catalog: no such product")

// Product is something we sell.
type Product struct {
	SKU   string
	Name  string
	Price money.Amount
	Grams int
}

// Catalog is a list of products, by SKU.
type Catalog struct {
	products map[string]Product
}

// New returns a catalog of the given products.
func New(list ...Product) *Catalog {
	c := &Catalog{products: map[string]Product{}}
	for _, p := range list {
		c.products[p.SKU] = p
	}
	return c
}

// Load reads one product per line: SKU, name, price and grams between bars.
func Load(text string) (*Catalog, error) {
	c := New()
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Split(line, "|")
		if len(f) != 4 {
			return nil, errors.New("catalog: line " + strconv.Itoa(i+1) + " has not four fields")
		}
		price, err := money.Parse(f[2])
		if err != nil {
			return nil, err
		}
		grams, err := strconv.Atoi(f[3])
		if err != nil {
			return nil, err
		}
		c.products[f[0]] = Product{SKU: f[0], Name: f[1], Price: price, Grams: grams}
	}
	return c, nil
}

// Find returns the product with the given SKU.
func (c *Catalog) Find(sku string) (Product, error) {
	p, ok := c.products[sku]
	if !ok {
		return Product{}, ErrUnknown
	}
	return p, nil
}

// Search returns the products whose name contains the word, by SKU.
func (c *Catalog) Search(word string) []Product {
	var found []Product
	for _, p := range c.products {
		if strings.Contains(strings.ToLower(p.Name), strings.ToLower(word)) {
			found = append(found, p)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].SKU < found[j].SKU })
	return found
}
