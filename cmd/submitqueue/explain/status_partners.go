package explain

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
)

// partners prints the changes that a change is built or lands with, one line for each kind.
func (p sheet) partners(ch api.Change) {
	if ch.Partners == nil {
		return
	}
	fact := func(name string, ids []string) { p.Hang(fmt.Sprintf("  %-11s ", name), p.changeNames(ids)) }
	if ch.Final {
		fact("landed with", ch.Partners.Rollup)
		return
	}
	fact("lands with", ch.Partners.Rollup)
	fact("built with", ch.Partners.Shares)
}

// changeNames lists the numbers of changes as people write them; "" for none.
func (p sheet) changeNames(ids []string) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, p.changeName(id))
	}
	return strings.Join(names, ", ")
}
