// Package notify writes messages to customers.
package notify

import (
	"strconv"
	"strings"

	"example.com/shop/orders"
)

// Message is a mail to a customer.
type Message struct {
	To, Subject, Body string
}

// Confirm returns the message that confirms an order.
func Confirm(o orders.Order) Message {
	var items []string
	for _, l := range o.Lines {
		items = append(items, strconv.Itoa(l.Count)+" x "+l.Product.Name)
	}
	return Message{
		To:      o.Customer,
		Subject: "Your order " + strconv.Itoa(o.Number),
		Body:    "We pack for you: " + strings.Join(items, ", ") + ".",
	}
}
