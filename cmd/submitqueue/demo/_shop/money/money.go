// Package money counts in cents.
package money

import (
	"errors"
	"strconv"
	"strings"
)

// ErrSyntax says that a text is not an amount.
var ErrSyntax = errors.New("money: not an amount")

// Amount is an amount of money in cents.
type Amount int64

// Euros returns an amount of whole euros.
func Euros(n int64) Amount { return Amount(n * 100) }

// Times returns n times the amount.
func (a Amount) Times(n int) Amount { return a * Amount(n) }

// Percent returns p percent of the amount, rounded half away from zero.
func (a Amount) Percent(p int) Amount {
	n := int64(a) * int64(p)
	if n < 0 {
		return Amount(-((-n + 50) / 100))
	}
	return Amount((n + 50) / 100)
}

// String returns the amount as 12.34.
func (a Amount) String() string {
	sign := ""
	if a < 0 {
		sign, a = "-", -a
	}
	cents := strconv.FormatInt(int64(a%100), 10)
	if len(cents) < 2 {
		cents = "0" + cents
	}
	return sign + strconv.FormatInt(int64(a/100), 10) + "." + cents
}

// Parse reads an amount such as 12, 12.5 or -12.34.
func Parse(s string) (Amount, error) {
	text, negative := strings.CutPrefix(s, "-")
	whole, cents, _ := strings.Cut(text, ".")
	for len(cents) < 2 {
		cents += "0"
	}
	n, err := strconv.ParseUint(whole+cents, 10, 60)
	if err != nil || len(cents) > 2 || whole == "" {
		return 0, ErrSyntax
	}
	if negative {
		return -Amount(n), nil
	}
	return Amount(n), nil
}
