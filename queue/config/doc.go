// Package config is the one file by which a repository configures the queue,
// .submitqueue.yml: its keys, their meaning, and the mistakes in it.
//
// # One source of truth
//
// Config and the structs below it are the only place that says which keys there are.
// Their doc comments and tags become schema.json (TestConfigSchema writes it with
// -update-config); Parse checks each file against that very schema, and editors and the
// reference get it from Schema. So an editor and `submitqueue validate` refuse the same
// keys, types, words, ranges and patterns. JSON schema has no bounds for durations: these
// are keywords of ours (x-minimum and x-maximum), which editors pass over.
//
// # From a file to a Config
//
//	yaml.go      the library's lexer and parser make a tree of nodes, after guards
//	             against files that it reads slowly; anchors, tags and the like are
//	             refused: nobody needs them, and they make a file mean what it does not show
//	tree.go      the tree as JSON has it, for the schema; where each value stands
//	schema.go    the schema, compiled once by a JSON-schema library
//	words.go     the schema's refusals, in words for people
//	patterns.go  words for patterns
//	parse.go     the YAML library decodes the tree into a Config, strictly
//	check*.go    rules that no schema can express: references, circles, globs, settings that do
//	             not go together
//	defaults.go  values that the file does not have
//
// We do three things ourselves, because no library does them. Validators name a value by
// its path; people need line and column, so the tree is kept to the end. A library's error
// is for the author of the schema ("additionalProperties 'stpes' not allowed"); words.go
// makes `unknown key "stpes" (did you mean "steps"?)` of it. And a decoder stops at a value
// that it cannot decode; we take out the refused values and check the rest, so that a
// person sees all mistakes at once.
//
// Parse is a pure function of the file, and safe for hostile ones: its time and memory grow
// with the file's size, whatever is in it.
//
// # How do I add a key?
//
// Say that landings are to keep a distance, queue.distance. Add a field with a comment,
// which is its reference, and its rules as tags, to the struct of its topic:
//
//	// Distance is the least time between two landings. From 0s to 1h; default 0s.
//	Distance time.Duration `json:"distance,omitempty" yaml:"distance,omitempty" jsonschema:"default=0s" jsonschema_extras:"x-minimum=0s,x-maximum=1h"`
//
// Run `go test ./queue/config -update-config` twice (the second time with the new schema
// built in), and the key is read, checked, suggested for `distence`, and in the schema.
// `distance: 2h` is answered by
//
//	.submitqueue.yml:9:13: queue.distance must be from 0s to 1h, found "2h"
//
// A default other than zero is filled in by Defaults. Write the key into a file of testdata/good
// and its possible mistakes into one of testdata/bad, with its messages beside it. A mistake
// that only shows together with other keys is found by a function that checkAll calls, which says
// where, what and what to do instead:
//
//	func checkDistance(d *document, q *Rules) {
//		if q.Distance > 0 && q.Batch != BatchOff {
//			d.report("queue.distance", "queue.distance does not go with queue.batch: delete one of them")
//		}
//	}
//
// Other rules: `required`; `enum=a,enum=b` for words; `minimum`, `maximum`, `minItems`,
// `maxItems`, `minLength`, `maxLength`, `uniqueItems`; `pattern`, with words for it in
// patternWords; `oneof_required=NAME` and `anyof_required=NAME` on keys that stand for one
// another, with words for them in keyWords. A type that can be written in several ways
// needs an entry in TestConfigSchema's table of unions, and an UnmarshalYAML, as Check and
// Who have.
//
// A field of Step is in the step's Digest, too: a pass under another value is no pass. Add
// it there such that steps without it keep their digests.
//
// # How do I add a step report?
//
// One row of Reports (step_report.go), which says for which analyzers it names targets,
// and how a command that reports ends; validate refuses it, in the row's words, where it
// cannot work. The row's name is a word in the tag of Step.Report, too. A function of
// step_tools.go tells which commands have a report that is whole. Its reader is a row of
// All in package workers/report. For example
//
//	{Name: "dart-json", Noun: "package", Of: "packages of Dart", Analyzers: []string{AnalyzerDart}, Reports: isDart,
//		Ending: "dart test --reporter json", Example: "run: dart analyze && dart test --reporter json {targets}"}
//
// # How do I add a requirement?
//
// A requirement that the repository may ask of a pull request is a field of Admission:
// add the key as above. The rest is said in package queue (requirement.go).
package config
