package queue

import _ "embed"

// configSchema is generated from Config, its tags and its comments by
// TestConfigSchema, which also fails when it is out of date.
//
//go:embed config.schema.json
var configSchema string

// ConfigSchema returns the JSON schema (draft 2020-12) of the configuration
// file, for editors and for the reference.
func ConfigSchema() []byte { return []byte(configSchema) }
