package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/submitqueue/submitqueue/queue"
)

// validateCommand checks a configuration as the server would.
type validateCommand struct {
	File string `arg:"" optional:"" default:".submitqueue.yml" help:"File to check." type:"path"`
}

// Run implements the command.
func (c *validateCommand) Run() error {
	data, err := os.ReadFile(c.File)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s; name the file to check: submitqueue validate FILE", c.File)
	} else if err != nil {
		return err
	}
	config, err := queue.ParseConfig(c.File, data)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitCode(1)
	}
	if _, err := analyzers(config.Analysis); err != nil {
		fmt.Fprintf(os.Stderr, "%s: analysis: %v\n", c.File, err)
		return exitCode(1)
	}
	fmt.Printf("%s is valid: %s, analyzer %s\n", c.File, counted(len(config.Steps), "step"), config.Analysis.Analyzer)
	return nil
}

// schemaCommand prints the schema that editors complete and check with.
type schemaCommand struct{}

// Run implements the command.
func (schemaCommand) Run() error {
	_, err := os.Stdout.Write(queue.ConfigSchema())
	return err
}
