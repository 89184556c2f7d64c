package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Parse reads a configuration file strictly and fills in the documented
// defaults. file is its name in messages. The error is an Errors with all
// independent mistakes, by line; a file of another version has that one error.
func Parse(file string, data []byte) (*Config, error) {
	c, _, err := ParseSaid(file, data)
	return c, err
}

// Said tells which settings a file has itself, not by default.
type Said struct {
	Landing bool // the method by which changes land
}

// ParseSaid is Parse, and tells which settings the file has itself.
func ParseSaid(file string, data []byte) (*Config, Said, error) {
	if len(data) > MaxSize {
		r := newFindings(file, "")
		r.add(position{1, 1}, "the file has %d bytes; a configuration may have at most %d: make it smaller", len(data), MaxSize)
		return nil, Said{}, r.result()
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	d := &document{findings: newFindings(file, text), refused: map[string]bool{}}
	rules := compiled()
	c := &Config{}
	d.guarded(func() { d.root = parseYAML(d.findings, text) })
	switch {
	case len(d.errs) > 0:
	case d.root == nil:
		d.add(position{1, 1}, "the file is empty: write \"version: 1\" and at least one step")
	case !d.otherVersion():
		unfit := d.judge(rules)
		d.guarded(func() { d.decode(c, unfit) })
		checkAll(d, c)
	}
	if err := d.result(); err != nil {
		return nil, Said{}, err
	}
	if !d.written("queue.retries") {
		c.Queue.Retries = DefaultRetries
	}
	c.Defaults()
	return c, Said{Landing: d.written("queue.method") || d.written("queue.methods")}, nil
}

// guarded runs code that works on hostile files: files of pull requests come here,
// too. The YAML library has had inputs it panicked on; one such file must not stop
// everybody's queue.
func (d *document) guarded(run func()) {
	defer func() {
		if p := recover(); p != nil {
			d.add(position{1, 1}, "this YAML cannot be read: write it in a plainer way")
		}
	}()
	run()
}

// otherVersion reports, as the one error, a file of another format: the rest of
// it must not be judged by this format.
func (d *document) otherVersion() bool {
	p, written := d.find([]string{"version"})
	n, number := (*p.value).(*ast.IntegerNode)
	if !written || !number || fmt.Sprint(n.Value) == "1" {
		return false
	}
	d.add(p.position(), "this is a configuration of version %v, and this program reads version 1: write \"version: 1\", or use a newer program", n.Value)
	return true
}

// decode fills in the configuration from the tree except for unfit values, so
// that the rest can be checked, too.
func (d *document) decode(c *Config, unfit []place) {
	for _, p := range unfit {
		was := *p.value
		*p.value = ast.Null(was.GetToken())
		defer func() { *p.value = was }() // positions are still asked for
	}
	if _, mapping := d.root.(*ast.MappingNode); !mapping {
		return
	}
	var strict []yaml.DecodeOption
	if len(d.errs) == 0 {
		strict = append(strict, yaml.Strict())
	}
	if err := yaml.NodeToValue(d.root, c, strict...); err != nil {
		at, message := located(err)
		d.add(at, "this cannot be read: %s", message)
	}
}
