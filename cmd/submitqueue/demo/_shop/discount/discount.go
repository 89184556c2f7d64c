// Package discount takes something off.
package discount

import (
	"strings"

	"example.com/shop/money"
)

// Coupon is a code that takes something off a subtotal.
type Coupon struct {
	Code    string
	Percent int
	Least   money.Amount // subtotal from which it counts
}

// Of returns what the coupon takes off a subtotal.
func (c Coupon) Of(subtotal money.Amount) money.Amount {
	if c.Percent <= 0 || subtotal < c.Least {
		return 0
	}
	return subtotal.Percent(min(c.Percent, 100))
}

// Matches reports whether a customer who typed code meant this coupon.
func (c Coupon) Matches(code string) bool {
	return c.Code != "" && strings.EqualFold(c.Code, strings.TrimSpace(code))
}
