package config_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

// BenchmarkParse measures what each commit costs whose file is new: a small
// file, those with most keys of ours, and one of a big repository.
func BenchmarkParse(b *testing.B) {
	files := map[string][]byte{}
	for _, name := range []string{"minimal", "lanes", "several"} {
		files[name] = mustRead(b, filepath.Join("testdata/good", name+".yml"))
	}
	var big strings.Builder
	big.WriteString("version: 1\nsteps: [{name: test, run: \"make {targets}\"}]\nanalysis:\n  analyzer: paths\n  areas:\n")
	for i := range 500 {
		fmt.Fprintf(&big, "    - {name: area%d, files: [\"a%d/**\", \"b%d/*.go\"], needs: [area0]}\n", i, i, i)
	}
	files["500 areas"] = []byte(strings.Replace(big.String(), ", needs: [area0]", "", 1))
	for name, data := range files {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := config.Parse(config.Path, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
