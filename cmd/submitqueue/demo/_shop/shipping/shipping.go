// Package shipping knows what a parcel costs.
package shipping

import "example.com/shop/money"

// Heaviest is the weight in grams of the heaviest parcel we send.
const Heaviest = 30_000

// Cost returns what a parcel of the given weight costs.
func Cost(grams int) money.Amount {
	switch {
	case grams <= 0:
		return 0
	case grams <= 1000:
		return 390
	case grams <= 5000:
		return 590
	}
	return 590 + money.Amount(100).Times((grams-5000+999)/1000)
}

// Parcels returns into how many parcels an order is split.
func Parcels(grams int) int {
	return (grams + Heaviest - 1) / Heaviest
}
