package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// Example is a webhook as GitHub has sent it: one of the npm package
// @octokit/webhooks-examples, which were recorded over the years.
type Example struct {
	Name    string // of a test, such as "pull_request/closed/2"
	Event   string
	Payload []byte
}

// Examples returns all examples. Without them, the test is skipped, or fails if
// they are demanded.
func Examples(t testing.TB) []Example {
	t.Helper()
	storetest.Need(t, "contracts", exists(examplesFile))
	data, err := os.ReadFile(filepath.Join(Folder(), examplesFile))
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name     string            `json:"name"`
		Examples []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatal(err)
	}
	var list []Example
	for _, e := range events {
		for i, payload := range e.Examples {
			var head struct {
				Action string `json:"action"`
			}
			if err := json.Unmarshal(payload, &head); err != nil {
				t.Fatal(err)
			}
			list = append(list, Example{fmt.Sprintf("%s/%s/%d", e.Name, head.Action, i), e.Name, payload})
		}
	}
	return list
}
