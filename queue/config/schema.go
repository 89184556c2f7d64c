package config

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schema is generated from Config, its tags and its comments by
// TestConfigSchema, which also fails when it is out of date.
//
//go:embed schema.json
var schema string

// Schema returns the JSON schema (draft 2020-12) of the configuration
// file, for editors and for the reference. Parse checks files against it.
func Schema() []byte { return []byte(schema) }

// rules is the schema in the form in which files are checked against it.
type rules struct {
	file *jsonschema.Schema
	at   map[string]*jsonschema.Schema // each part of it, by its location
}

// compiled returns the rules. It panics when schema.json is no schema: then no
// file can be read.
var compiled = sync.OnceValue(func() *rules {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		panic(err)
	}
	const url = "mem:///schema.json"
	c := jsonschema.NewCompiler()
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mem:///durations", Compile: compileDurations})
	c.AssertVocabs()
	if err := c.AddResource(url, doc); err != nil {
		panic(err)
	}
	r := &rules{file: c.MustCompile(url), at: map[string]*jsonschema.Schema{}}
	r.collect(r.file)
	return r
})

// collect enters a schema, and all of its parts, into the table.
func (r *rules) collect(s *jsonschema.Schema) {
	if s == nil || r.at[s.Location] != nil {
		return
	}
	r.at[s.Location] = s
	r.collect(s.Ref)
	r.collect(s.Items2020)
	for _, p := range s.Properties {
		r.collect(p)
	}
	for _, p := range s.PatternProperties {
		r.collect(p)
	}
	for _, branch := range s.AnyOf {
		r.collect(branch)
	}
}

// The keywords for the least and the greatest value of a duration. JSON schema
// has none, so editors check only that a value is a duration.
const (
	minDuration = "x-minimum"
	maxDuration = "x-maximum"
)

// durations are the bounds of a text that is a duration.
type durations struct {
	least, most time.Duration
	words       string
}

func compileDurations(_ *jsonschema.CompilerContext, keywords map[string]any) (jsonschema.SchemaExt, error) {
	least, ok := keywords[minDuration].(string)
	if !ok {
		return nil, nil
	}
	most, _ := keywords[maxDuration].(string)
	d := durations{words: "from " + least + " to " + most}
	var err error
	if d.least, err = time.ParseDuration(least); err != nil {
		return nil, fmt.Errorf("%s: %w", minDuration, err)
	}
	if d.most, err = time.ParseDuration(most); err != nil {
		return nil, fmt.Errorf("%s: %w", maxDuration, err)
	}
	return d, nil
}

// Validate refuses a duration that is out of bounds, and one too long for Go. A text that is
// no duration at all is refused by the pattern; words beside durations pass.
func (d durations) Validate(ctx *jsonschema.ValidatorContext, value any) {
	text, _ := value.(string)
	if text == "" || text[0] < '0' || text[0] > '9' {
		return
	}
	if got, err := time.ParseDuration(text); err != nil || got < d.least || got > d.most {
		ctx.AddError(&kind.Format{Got: value, Want: d.words})
	}
}
