// Command shopd answers one request, given by its arguments.
package main

import (
	"os"
	"strings"

	"example.com/shop/api"
	"example.com/shop/catalog"
	"example.com/shop/orders"
	"example.com/shop/stock"
)

func main() {
	text, err := open().Handle(strings.Join(os.Args[1:], " "))
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString(text + "\n")
}

// open returns the shop as it is in the morning.
func open() *api.Server {
	tea := catalog.Product{SKU: "tea-001", Name: "Green tea", Price: 450, Grams: 100}
	mug := catalog.Product{SKU: "mug-001", Name: "Tea mug", Price: 800, Grams: 350}
	warehouse := stock.New()
	warehouse.Receive(tea, 40)
	warehouse.Receive(mug, 12)
	return &api.Server{Catalog: catalog.New(tea, mug), Book: orders.NewBook(warehouse)}
}
