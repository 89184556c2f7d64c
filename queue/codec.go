package queue

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// bodies and tasks list the types that travel in envelopes, by name. They are
// functions, not variables, so that nothing can change them.
func bodies() []Body {
	return []Body{Commented{}, Edited{}, Labeled{}, HeadMoved{}, Closed{}, Retargeted{}, MainMoved{}, Offered{}, Stirred{}, Access{},
		Observed{}, Surveyed{}, Traced{}, Controlled{}, Inspected{}, Analyzed{}, Attested{}, HeadChecked{}, Met{}, Resolved{}, Weighed{}, Proposed{}, BuildStarted{}, JobDone{},
		BuildDone{}, HeadsMoved{}, HeadsSeen{}, HeadsReturned{}, Pushed{}, Done{}, Failed{}, Learnt{}, Renamed{}, Capacity{}, Fleet{}, Tick{}}
}

func tasks() []Task {
	return []Task{Observe{}, Survey{}, Trace{}, Watch{}, Inspect{}, Analyze{}, Attest{}, Meet{}, Resolve{}, Run{}, Stop{}, ProbeHost{}, MoveHeads{}, SeeHeads{}, ReturnHeads{}, Land{}, Weigh{}, Propose{}, Publish{}, React{}, Tell{}, Learn{}}
}

// EventName returns the name of an event's body, e.g. "Commented".
func EventName(b Body) string { return typeName(b) }

// TaskName returns the name of a task's type, e.g. "Resolve".
func TaskName(t Task) string { return typeName(t) }

// typeName returns "" for nil and for a value of a type without a name, e.g. a pointer.
func typeName(v any) string {
	if t := reflect.TypeOf(v); t != nil {
		return t.Name()
	}
	return ""
}

// MarshalJSON writes the event with its body under the body's name.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return envelope(plain(e), EventName(e.Body), e.Body)
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown body is an error that
// names it.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	name, raw, err := openEnvelope(data, (*plain)(e))
	if err != nil {
		return err
	}
	e.Body, err = decodeAs(name, raw, bodies())
	return err
}

// MarshalJSON writes the action with its task under the task's name.
func (a Action) MarshalJSON() ([]byte, error) {
	type plain Action
	return envelope(plain(a), TaskName(a.Task), a.Task)
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown task is an error that
// names it.
func (a *Action) UnmarshalJSON(data []byte) error {
	type plain Action
	name, raw, err := openEnvelope(data, (*plain)(a))
	if err != nil {
		return err
	}
	a.Task, err = decodeAs(name, raw, tasks())
	return err
}

type wrapped struct {
	Head json.RawMessage `json:"head"`
	Name string          `json:"name"`
	Body json.RawMessage `json:"body"`
}

func envelope(head any, name string, body any) ([]byte, error) {
	if name == "" {
		return nil, fmt.Errorf("queue: %T cannot be stored", body)
	}
	h, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wrapped{Head: h, Name: name, Body: b})
}

func openEnvelope(data []byte, head any) (string, json.RawMessage, error) {
	var w wrapped
	if err := json.Unmarshal(data, &w); err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(w.Head, head); err != nil {
		return "", nil, err
	}
	return w.Name, w.Body, nil
}

func decodeAs[T any](name string, raw json.RawMessage, known []T) (T, error) {
	var zero T
	for _, k := range known {
		if t := reflect.TypeOf(k); t.Name() == name {
			v := reflect.New(t)
			if err := json.Unmarshal(raw, v.Interface()); err != nil {
				return zero, fmt.Errorf("queue: reading %s: %w", name, err)
			}
			return v.Elem().Interface().(T), nil
		}
	}
	return zero, fmt.Errorf("queue: %q is not known to this version", name)
}
