package api

import (
	"errors"
	"strings"
	"testing"

	"example.com/shop/catalog"
	"example.com/shop/orders"
	"example.com/shop/stock"
)

func server() *Server {
	tea := catalog.Product{SKU: "tea-001", Name: "Green tea", Price: 450, Grams: 100}
	warehouse := stock.New()
	warehouse.Receive(tea, 10)
	return &Server{Catalog: catalog.New(tea), Book: orders.NewBook(warehouse)}
}

func TestOrder(t *testing.T) {
	s := server()
	text, err := s.Handle("order Elif tea-001 4")
	if err != nil || !strings.HasSuffix(text, "Total 25.32\n") {
		t.Errorf("%q, %v", text, err)
	}
	if len(s.Outbox) != 1 || s.Outbox[0].To != "Elif" {
		t.Errorf("outbox = %+v", s.Outbox)
	}
	if text, err := s.Handle("revenue"); err != nil || text != "18.00" {
		t.Errorf("revenue: %q, %v", text, err)
	}
	if _, err := s.Handle("order Elif tea-001 7"); !errors.Is(err, stock.ErrShort) {
		t.Errorf("sold what is not there: %v", err)
	}
}

func TestSearch(t *testing.T) {
	if text, err := server().Handle("search tea"); err != nil || text != "Green tea" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestBadRequests(t *testing.T) {
	for _, request := range []string{"", "order", "order a b c", "sell everything"} {
		if _, err := server().Handle(request); err == nil {
			t.Errorf("%q was answered", request)
		}
	}
}
