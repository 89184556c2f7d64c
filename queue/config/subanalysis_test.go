package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

// TestSubAnalysisHasAllOptions holds that an analyzer that a configuration can
// name can be one of several, with the same options.
func TestSubAnalysisHasAllOptions(t *testing.T) {
	ofAll := []string{"Analyzer", "Analyzers", "Unowned", "Ignore", "Barrier", "Inputs"} // said once, or meant for the entry alone
	whole, part := reflect.TypeFor[config.Analysis](), reflect.TypeFor[config.SubAnalysis]()
	for i := range whole.NumField() {
		f := whole.Field(i)
		if slices.Contains(ofAll, f.Name) {
			continue
		}
		p, ok := part.FieldByName(f.Name)
		if !ok || p.Type != f.Type || p.Tag != f.Tag {
			t.Errorf("Analysis.%s is not in SubAnalysis as it is there: add it, and to SubAnalysis.Analysis", f.Name)
			continue
		}
		one := reflect.New(part).Elem()
		v := one.FieldByName(f.Name)
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Int64:
			v.SetInt(1)
		case reflect.Bool:
			v.SetBool(true)
		default:
			t.Fatalf("%s: teach this test its kind", f.Name)
		}
		got := reflect.ValueOf(one.Interface().(config.SubAnalysis).Analysis())
		if got.FieldByName(f.Name).IsZero() {
			t.Errorf("SubAnalysis.Analysis leaves out %s", f.Name)
		}
	}
	enum := func(typ reflect.Type) (words []string) {
		f, _ := typ.FieldByName("Analyzer")
		for _, part := range strings.Split(f.Tag.Get("jsonschema"), ",") {
			if word, ok := strings.CutPrefix(part, "enum="); ok && word != config.AnalyzerNone {
				words = append(words, word)
			}
		}
		return words
	}
	if all, some := enum(whole), enum(part); !slices.Equal(all, some) {
		t.Errorf("analysis.analyzer may be %v, that of an entry of analyzers %v", all, some)
	}
}
