// Package tax knows what the state takes.
package tax

import "example.com/shop/money"

// Region is where a parcel goes.
type Region string

// The regions we deliver to.
const (
	Home  Region = "home"
	Union Region = "union"
	World Region = "world"
)

// Of returns the tax on an amount.
func Of(a money.Amount, r Region) money.Amount {
	switch r {
	case Home:
		return a.Percent(19)
	case Union:
		return a.Percent(21)
	}
	return 0
}
