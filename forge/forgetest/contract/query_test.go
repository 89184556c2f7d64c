package contract_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestQueriesMustFit(t *testing.T) {
	storetest.Need(t, "contracts", contract.SchemaThere())
	const head = `query Q($n: Int!, $owner: String!, $whole: Boolean!) { repository(owner: $owner, name: "r") { pullRequest(number: $n) { `
	variables := map[string]any{"n": 7, "owner": "o", "whole": true}
	with := func(name string, v any) map[string]any {
		return map[string]any{"n": 7, "owner": "o", "whole": true, name: v}
	}
	r := &record{TB: t}
	j := contract.For(r)
	for what, c := range map[string]struct {
		query     string
		variables map[string]any
		answer    string
		wrong     string
	}{
		"right":                  {`number author { __typename login } ... @include(if: $whole) { title }`, variables, `{"number": 7, "title": "t", "author": {"__typename": "Bot", "login": "b"}}`, ""},
		"not asked for":          {`number ... @include(if: $whole) { title }`, with("whole", false), `{"number": 7, "title": "t"}`, "nobody asked for title"},
		"left out":               {`number ... @include(if: $whole) { title }`, variables, `{"number": 7}`, "title is missing"},
		"no such field":          {`number titel @include(if: $whole)`, variables, `{"number": 7}`, `Cannot query field "titel"`},
		"a syntax error":         {`number {`, variables, `{}`, "expected"},
		"no such argument":       {`commits(fist: 1) @include(if: $whole) { totalCount }`, variables, `{}`, `Unknown argument "fist"`},
		"a variable's type":      {`number @include(if: $whole)`, with("n", "seven"), `{"number": 7}`, "Int"},
		"a variable too many":    {`number @include(if: $whole)`, with("m", 1), `{"number": 7}`, "no variable m"},
		"null":                   {`number @include(if: $whole)`, variables, `{"number": null}`, "may not be"},
		"a string for a number":  {`number @include(if: $whole)`, variables, `{"number": "7"}`, "is no Int"},
		"no such state":          {`state @include(if: $whole)`, variables, `{"state": "open"}`, "is no PullRequestState"},
		"a list that is none":    {`labels(first: 1) @include(if: $whole) { nodes { name } }`, variables, `{"labels": {"nodes": {}}}`, "no list"},
		"in a list":              {`labels(first: 1) @include(if: $whole) { nodes { name } }`, variables, `{"labels": {"nodes": [{"name": null}]}}`, "nodes[0].name"},
		"of another type":        {`author @include(if: $whole) { __typename login }`, variables, `{"author": {"__typename": "Label", "login": "b"}}`, "Label is no Actor"},
		"a fragment's":           {`author @include(if: $whole) { __typename ... on User { name } }`, variables, `{"author": {"__typename": "Bot", "name": "b"}}`, "nobody asked for name"},
		"no commit":              {`headRefOid @include(if: $whole)`, variables, `{"headRefOid": "main"}`, "is no GitObjectID"},
		"an alias, where one is": {`of: title @include(if: $whole)`, variables, `{"of": "t"}`, ""},
	} {
		j.Query(head+c.query+` } } }`, c.variables, []byte(`{"data": {"repository": {"pullRequest": `+c.answer+`}}}`))
		r.heard(t, what, c.wrong)
	}
	j.Query(head+`number @include(if: $whole) } } }`, variables, []byte(`{"data": null, "errors": [{"type": "NOT_FOUND"}]}`))
	r.heard(t, "an error", "")
}
