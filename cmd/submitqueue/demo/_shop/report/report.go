// Package report sums orders up.
package report

import (
	"sort"

	"example.com/shop/money"
	"example.com/shop/orders"
)

// Revenue returns what all orders bring in, without tax and shipping.
func Revenue(list []orders.Order) money.Amount {
	var sum money.Amount
	for _, o := range list {
		sum += o.Subtotal - o.Discount
	}
	return sum
}

// Sellers returns the SKUs of all products that were sold, the most sold first.
func Sellers(list []orders.Order) []string {
	count := map[string]int{}
	for _, o := range list {
		for _, l := range o.Lines {
			count[l.Product.SKU] += l.Count
		}
	}
	skus := make([]string, 0, len(count))
	for sku := range count {
		skus = append(skus, sku)
	}
	sort.Slice(skus, func(i, j int) bool {
		if count[skus[i]] != count[skus[j]] {
			return count[skus[i]] > count[skus[j]]
		}
		return skus[i] < skus[j]
	})
	return skus
}
