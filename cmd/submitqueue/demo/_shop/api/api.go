// Package api answers requests, one line of text each.
package api

import (
	"errors"
	"strconv"
	"strings"

	"example.com/shop/cart"
	"example.com/shop/catalog"
	"example.com/shop/invoice"
	"example.com/shop/notify"
	"example.com/shop/orders"
	"example.com/shop/report"
	"example.com/shop/tax"
)

// ErrRequest says that a request cannot be read.
var ErrRequest = errors.New("api: cannot read the request")

// Server answers requests.
type Server struct {
	Catalog *catalog.Catalog
	Book    *orders.Book
	Outbox  []notify.Message
}

// Handle answers one request:
//
//	search WORD
//	order CUSTOMER SKU COUNT
//	revenue
func (s *Server) Handle(request string) (string, error) {
	words := strings.Fields(request)
	switch {
	case len(words) == 2 && words[0] == "search":
		var names []string
		for _, p := range s.Catalog.Search(words[1]) {
			names = append(names, p.Name)
		}
		return strings.Join(names, "\n"), nil
	case len(words) == 4 && words[0] == "order":
		return s.order(words[1], words[2], words[3])
	case len(words) == 1 && words[0] == "revenue":
		return report.Revenue(s.Book.All()).String(), nil
	}
	return "", ErrRequest
}

func (s *Server) order(customer, sku, count string) (string, error) {
	n, err := strconv.Atoi(count)
	if err != nil {
		return "", ErrRequest
	}
	p, err := s.Catalog.Find(sku)
	if err != nil {
		return "", err
	}
	var c cart.Cart
	if err := c.Add(p, n); err != nil {
		return "", err
	}
	o, err := s.Book.Place(orders.Request{Customer: customer, Region: tax.Home, Cart: &c})
	if err != nil {
		return "", err
	}
	s.Outbox = append(s.Outbox, notify.Confirm(o))
	return invoice.Render(o), nil
}
