package config

import _ "embed"

// schema is generated from Config, its tags and its comments by
// TestConfigSchema, which also fails when it is out of date.
//
//go:embed schema.json
var schema string

// Schema returns the JSON schema (draft 2020-12) of the configuration
// file, for editors and for the reference.
func Schema() []byte { return []byte(schema) }
