package bazel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// record is Bazel's answer about one package. It does not change once it is kept.
type record struct {
	build     string   // the label of the BUILD file, "" if Bazel has not named it
	loaded    []string // labels of all .bzl files that it is made with
	rules     []rule
	files     map[string]queue.Digest // source files: digest of their visibility
	generated map[string]string       // generated file → its rule
	groups    []group
	globs     bool     // it may look at which files exist
	broken    bool     // Bazel has found errors and went on
	settings  []string // labels of build settings that transitions of its rules may read
	platform  []string // labels of platforms to which these may lead
}

// rule is a target that can be built.
type rule struct {
	name, class string
	attrs       queue.Digest
	inputs      []string // labels of rules, files and groups
	manual      bool     // `//...` does not stand for it
	native      bool     // its code is in Bazel, or a digest of it is in attrs
}

// group is a package group or an environment group.
type group struct {
	name  string
	attrs queue.Digest
	deps  []string
}

// Numbers of fields in Bazel's build.proto.
const (
	targetRule, targetSource, targetGenerated, targetGroup, targetEnvironment = 2, 3, 4, 5, 6

	ruleClass, ruleAttribute, ruleInput, ruleOutput, ruleSetting, ruleCode, ruleKey = 2, 4, 5, 6, 7, 12, 16

	sourceLoaded, sourceErrors = 3, 9

	attributeText, attributeTexts, attributeGlobs, attributeExplicit, attributeCriteria, attributeLater = 5, 6, 12, 13, 16, 20
)

// parse reads a stream of targets into one record for each package.
func parse(stream []byte, workspace string) (map[string]*record, error) {
	records := map[string]*record{}
	for len(stream) > 0 {
		msg, rest, err := chunk(stream)
		if err != nil {
			return nil, err
		}
		stream = rest
		err = fields(msg, func(f field) error {
			if f.is != block || f.number < targetRule || f.number > targetEnvironment {
				return nil
			}
			return add(records, f, workspace)
		})
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// add adds one target to its package's record.
func add(records map[string]*record, f field, workspace string) error {
	name := ""
	err := fields(f.text, func(f field) error {
		if f.number == 1 && f.is == block {
			name = string(f.text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l, ok := parseLabel(name, workspace)
	if !ok || l.repo != "" {
		return fmt.Errorf("bazel printed a target with the label %.200q", name)
	}
	r := records[l.dir]
	if r == nil {
		r = &record{files: map[string]queue.Digest{}, generated: map[string]string{}}
		records[l.dir] = r
	}
	switch f.number {
	case targetRule:
		if err := l.plain(); err != nil {
			return err
		}
		x, err := readRule(f.text, workspace)
		x.name = l.String()
		r.rules = append(r.rules, x)
		return err
	case targetSource:
		return r.readSource(l, f.text, workspace)
	case targetGenerated:
		return fields(f.text, func(f field) error {
			if maker, ok := parseLabel(string(f.text), workspace); ok && f.number == 2 && f.is == block {
				r.generated[l.String()] = maker.String()
			}
			return nil
		})
	}
	if err := l.plain(); err != nil {
		return err
	}
	return r.readGroup(l, f.text, workspace)
}

// readSource reads a source file: its name and its visibility.
func (r *record) readSource(l label, msg []byte, workspace string) error {
	var facts []string
	err := fields(msg, func(f field) error {
		switch f.number {
		case 1, 2: // name and location
		case sourceLoaded:
			if loaded, ok := parseLabel(string(f.text), workspace); ok {
				r.loaded = append(r.loaded, loaded.String())
			}
			r.build = l.String()
		case sourceErrors:
			r.broken = r.broken || f.value != 0
			r.build = l.String()
		default:
			facts = append(facts, written(f))
		}
		return nil
	})
	if isBuild(l.name) && !strings.Contains(l.name, "/") {
		r.build = l.String()
	}
	slices.Sort(facts)
	r.files[l.String()] = digest.Of(facts...)
	return err
}

// readGroup reads a package group or an environment group.
func (r *record) readGroup(l label, msg []byte, workspace string) error {
	g := group{name: l.String()}
	var facts []string
	err := fields(msg, func(f field) error {
		if f.number == 1 {
			return nil
		}
		facts = append(facts, written(f))
		if f.number != 2 || strings.Contains(string(f.text), ":") { // included groups, environments
			if to, ok := parseLabel(string(f.text), workspace); ok && f.is == block {
				g.deps = append(g.deps, to.String())
			}
		}
		return nil
	})
	slices.Sort(facts)
	g.attrs = digest.Of(facts...)
	r.groups = append(r.groups, g)
	return err
}

// readRule reads a rule, except for its name.
func readRule(msg []byte, workspace string) (rule, error) {
	var r rule
	var attrs, facts []string
	code := false // a digest of its implementation is among the attributes
	scripted := false
	err := fields(msg, func(f field) error {
		switch f.number {
		case ruleClass:
			r.class = string(f.text)
		case ruleAttribute:
			a, err := readAttribute(f.text)
			if err != nil || a.name == "generator_location" {
				return err
			}
			attrs = append(attrs, a.canonical)
			if a.later { // package groups of the visibility, targets that a toolchain stands for
				r.inputs = append(r.inputs, named(append(a.texts, a.text), workspace)...)
			}
			switch a.name {
			case "tags":
				r.manual = slices.Contains(a.texts, "manual")
			case "$rule_implementation_hash":
				code = code || a.text != ""
			}
		case ruleInput:
			l, ok := parseLabel(string(f.text), workspace)
			if !ok {
				return fmt.Errorf("bazel printed the label %.200q", f.text)
			}
			r.inputs = append(r.inputs, l.String())
		case ruleCode:
			code = code || len(f.text) > 0
			facts = append(facts, written(f))
		case ruleKey: // file%name of a rule that is defined in a .bzl file
			scripted = strings.Contains(string(f.text), "%")
			facts = append(facts, written(f))
		case ruleOutput, ruleSetting:
			facts = append(facts, written(f))
		}
		return nil
	})
	slices.Sort(attrs)
	slices.Sort(r.inputs)
	r.inputs = slices.Compact(r.inputs)
	r.native = code || nativeClasses[r.class] && !scripted
	r.attrs = digest.Of("rule1", r.class, string(digest.Of(attrs...)), string(digest.Of(facts...)))
	return r, err
}

// named returns the targets that labels name, without special labels of a visibility.
func named(list []string, workspace string) []string {
	var out []string
	for _, s := range list {
		l, ok := parseLabel(s, workspace)
		if ok && l.dir != "visibility" && l.name != "__pkg__" && l.name != "__subpackages__" {
			out = append(out, l.String())
		}
	}
	return out
}

// attribute is one attribute of a rule.
type attribute struct {
	name, canonical string
	text            string
	texts           []string
	later           bool // Bazel does not count its labels as inputs
}

// sets are the attributes in which the order of values means nothing.
var sets = map[string]bool{"visibility": true, "tags": true, "features": true, "licenses": true, "compatible_with": true,
	"restricted_to": true, "exec_compatible_with": true, "target_compatible_with": true, "applicable_licenses": true,
	"package_metadata": true, "tests": true, "$implicit_tests": true, "$config_dependencies": true}

func readAttribute(msg []byte) (attribute, error) {
	var a attribute
	var values []string
	err := fields(msg, func(f field) error {
		switch f.number {
		case 1:
			a.name = string(f.text)
			return nil
		case attributeExplicit, attributeGlobs, attributeCriteria:
			return nil // how the value was written, not the value
		case attributeText:
			a.text = string(f.text)
		case attributeTexts:
			a.texts = append(a.texts, string(f.text))
		case attributeLater:
			a.later = f.value != 0
		}
		values = append(values, written(f))
		return nil
	})
	if sets[a.name] {
		slices.Sort(values)
	}
	a.canonical = string(digest.Of(append([]string{a.name}, values...)...))
	return a, err
}

// written writes a field so that no other field has the same text.
func written(f field) string {
	return fmt.Sprintf("%d %d %d %s", f.number, f.is, f.value, f.text)
}

// nativeClasses are rules that Bazel's own code implements. A rule with such a
// name that comes from a .bzl file has a digest of its code, or its repository
// is one of its dependencies.
var nativeClasses = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`
		action_listener alias android_binary android_library android_local_test apple_cc_toolchain
		cc_binary cc_import cc_library cc_proto_library cc_test cc_toolchain cc_toolchain_suite
		config_feature_flag config_setting constraint_setting constraint_value environment extra_action
		fdo_prefetch_hints fdo_profile filegroup genquery genrule
		java_binary java_import java_library java_lite_proto_library java_package_configuration java_plugin
		java_proto_library java_runtime java_test java_toolchain label_flag label_setting
		objc_import objc_library platform propeller_optimize proto_lang_toolchain proto_library
		py_binary py_library py_runtime py_test sh_binary sh_library sh_test test_suite toolchain toolchain_type
		xcode_config xcode_version`) {
		m[name] = true
	}
	return m
}()
