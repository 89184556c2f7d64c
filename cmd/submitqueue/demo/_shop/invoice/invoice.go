// Package invoice writes what customers file away.
package invoice

import (
	"strconv"
	"strings"

	"example.com/shop/money"
	"example.com/shop/orders"
)

// Render returns the invoice of an order as text.
func Render(o orders.Order) string {
	var b strings.Builder
	b.WriteString("Invoice " + strconv.Itoa(o.Number) + " for " + o.Customer + "\n")
	for _, l := range o.Lines {
		b.WriteString(strconv.Itoa(l.Count) + " x " + l.Product.Name + " " + l.Total().String() + "\n")
	}
	line(&b, "Discount", -o.Discount)
	line(&b, "Tax", o.Tax)
	line(&b, "Shipping", o.Shipping)
	b.WriteString("Total " + o.Total().String() + "\n")
	return b.String()
}

func line(b *strings.Builder, name string, a money.Amount) {
	if a != 0 {
		b.WriteString(name + " " + a.String() + "\n")
	}
}
