package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/history"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// source says which history a command reads.
type source struct {
	client.Flags
	History string `help:"The file of submitqueue history export, or the folder of a queue below serve --history, in place of a server's." placeholder:"PATH" type:"path"`
}

// Validate refuses flags that name two sources.
func (s *source) Validate() error {
	if s.History != "" && s.Queue != "" && os.Getenv("SUBMITQUEUE_QUEUE") != s.Queue {
		return print.UsageError("--history and --queue name two histories; give one of them")
	}
	return nil
}

// samples returns the changes of the history.
func (s *source) samples(ctx context.Context) (name string, out []predict.Sample, err error) {
	name, rows, err := history.Read(ctx, s.History, s.Flags)
	return name, predict.Samples(rows), err
}

// trained makes a model from changes, and prints its progress.
func trained(name string, samples []predict.Sample, seed uint64) (*predict.Trained, error) {
	m, err := predict.Train(samples, predict.TrainOptions{Seed: seed, Progress: func(what string) { fmt.Fprintf(os.Stderr, "%s: %s\n", name, what) }})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// Load reads the model of a file.
func Load(file string) (*predict.Trained, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := new(predict.Trained)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s is no model that can be used here: %w", file, err)
	}
	return m, nil
}

// served returns the model that a server plans with; nil where it has none.
func served(ctx context.Context, from client.Flags, name string) (*predict.Trained, error) {
	c, err := from.Open()
	if err != nil {
		return nil, err
	}
	m := new(predict.Trained)
	err = c.Get(ctx, "/api/model?"+query(name).Encode(), m)
	if a := (*client.Answered)(nil); errors.As(err, &a) && a.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}
