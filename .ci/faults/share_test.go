package main

import (
	"slices"
	"strings"
	"testing"
)

const shareable = `package queue

import "fmt"

type T struct{}

func (t *T) one(n int, more ...string) (string, error) {
	return fmt.Sprint(n, more), nil
}

func two(a, b int) { fmt.Println(a, b) }

func blank(_ int) int { return 1 }

const limit = 3
`

func TestFaultsShareABinary(t *testing.T) {
	of := func(id, was, is string) fault {
		return fault{id: id, parts: []part{{file: "queue/one.go", old: was, new: is}}}
	}
	read := func(string) ([]byte, error) { return []byte(shareable), nil }
	files, ids := share([]fault{
		of("a1-one", "more), nil", "n), nil"), of("a2-two", "Println(a, b)", "Println(b, a)"), of("a3-again", "return fmt.Sprint(n, more), nil", "return \"\", nil"),
		of("b-type", "type T struct{}", "type T struct{ a int }"), of("b-blank", "return 1", "return 2"), of("b-limit", "limit = 3", "limit = 4"), of("b-gone", "not there", ""),
	}, read)
	if want := []string{"a1-one", "a2-two", "a3-again"}; !slices.Equal(ids, want) {
		t.Errorf("%v share a binary, want %v", ids, want)
	}
	for _, want := range []string{
		"if faultNow == \"a1-one\" {\n\t\treturn t.oneFaulta1_one(n, more...)\n\t}", "return t.oneFaulta3_again(n, more...)",
		"if faultNow == \"a2-two\" {\n\t\ttwoFaulta2_two(a, b)\n\t\treturn\n\t}", "func twoFaulta2_two(a, b int) { fmt.Println(b, a) }",
		"func (t *T) oneFaulta3_again(n int, more ...string) (string, error) {\n\treturn \"\", nil\n}", "return fmt.Sprint(n, more), nil",
	} {
		if !strings.Contains(files["queue/one.go"], want) {
			t.Errorf("the shared file has no\n%s\nand is\n%s", want, files["queue/one.go"])
		}
	}
	if text := files["queue/fault_now.go"]; !strings.HasPrefix(text, "package queue\n") {
		t.Errorf("its variable is in %q", text)
	}
}
