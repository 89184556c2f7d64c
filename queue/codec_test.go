package queue_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// allBodies and allTasks are every type that travels in an envelope;
// TestEnvelopeTypes holds them to the source.
func allBodies() []queue.Body {
	return []queue.Body{queue.Commented{}, queue.Edited{}, queue.Labeled{}, queue.HeadMoved{}, queue.Closed{}, queue.Retargeted{}, queue.MainMoved{}, queue.Offered{}, queue.Stirred{}, queue.Access{},
		queue.Observed{}, queue.Surveyed{}, queue.Traced{}, queue.Controlled{}, queue.Inspected{}, queue.Analyzed{}, queue.Attested{}, queue.HeadChecked{}, queue.Met{}, queue.Resolved{}, queue.Weighed{}, queue.Proposed{}, queue.BuildStarted{},
		queue.JobDone{}, queue.BuildDone{}, queue.HeadsMoved{}, queue.HeadsSeen{}, queue.HeadsReturned{}, queue.Pushed{}, queue.Done{}, queue.Failed{}, queue.Learnt{}, queue.Renamed{}, queue.Capacity{}, queue.Fleet{}, queue.Tick{}}
}

func allTasks() []queue.Task {
	return []queue.Task{queue.Observe{}, queue.Survey{}, queue.Trace{}, queue.Watch{}, queue.Inspect{}, queue.Analyze{}, queue.Attest{}, queue.Meet{}, queue.Resolve{}, queue.Run{},
		queue.Stop{}, queue.ProbeHost{}, queue.MoveHeads{}, queue.SeeHeads{}, queue.ReturnHeads{}, queue.Land{}, queue.Weigh{}, queue.Propose{}, queue.Publish{}, queue.React{}, queue.Tell{}, queue.Learn{}}
}

// receivers returns the types of this package's source that have a method with
// that many results.
func receivers(t *testing.T, method string, results int) []string {
	t.Helper()
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	//lint:ignore SA1019 the package's files are all we need
	packages, err := parser.ParseDir(token.NewFileSet(), ".", notTest, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range packages["queue"].Files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != method || fn.Type.Results.NumFields() != results {
				continue
			}
			recv, ok := fn.Recv.List[0].Type.(*ast.Ident)
			if !ok {
				t.Fatalf("%s has a pointer receiver; envelopes hold values", method)
			}
			names = append(names, recv.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestEnvelopeTypes(t *testing.T) {
	var bodies, tasks []string
	for _, b := range allBodies() {
		bodies = append(bodies, queue.EventName(b))
	}
	for _, task := range allTasks() {
		tasks = append(tasks, queue.TaskName(task))
	}
	slices.Sort(bodies)
	slices.Sort(tasks)
	if diff := cmp.Diff(receivers(t, "event", 0), bodies); diff != "" {
		t.Errorf("the source's events and the tested ones: %s", diff)
	}
	if diff := cmp.Diff(receivers(t, "Name", 2), tasks); diff != "" {
		t.Errorf("the source's tasks and the tested ones: %s", diff)
	}
}

// sameJSON: none and empty are the same in JSON.
var sameJSON = cmp.Options{cmpopts.EquateEmpty()}

func TestEventRoundTrip(t *testing.T) {
	for _, body := range allBodies() {
		t.Run(queue.EventName(body), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				want := queue.Event{ID: rapid.String().Draw(r, "id"), At: queue.Instant(rapid.Int64().Draw(r, "at")), Body: filled(r, body)}
				data, err := json.Marshal(want)
				if err != nil {
					r.Fatal(err)
				}
				var got queue.Event
				if err := json.Unmarshal(data, &got); err != nil {
					r.Fatalf("%s: %v", data, err)
				}
				if diff := cmp.Diff(want, got, sameJSON); diff != "" {
					r.Fatalf("%s: %s", data, diff)
				}
			})
		})
	}
}

func TestActionRoundTrip(t *testing.T) {
	for _, task := range allTasks() {
		t.Run(queue.TaskName(task), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				want := filled(r, queue.Action{})
				want.Task = filled(r, task)
				data, err := json.Marshal(want)
				if err != nil {
					r.Fatal(err)
				}
				var got queue.Action
				if err := json.Unmarshal(data, &got); err != nil {
					r.Fatalf("%s: %v", data, err)
				}
				if diff := cmp.Diff(want, got, sameJSON); diff != "" {
					r.Fatalf("%s: %s", data, diff)
				}
			})
		})
	}
}

func TestEnvelopeErrors(t *testing.T) {
	for _, v := range []any{queue.Event{}, queue.Event{Body: &queue.Tick{}}, queue.Action{}, queue.Action{Task: &queue.Run{}}} {
		if data, err := json.Marshal(v); err == nil {
			t.Errorf("%#v was written as %s, which nobody can read", v, data)
		}
	}
	for _, text := range []string{
		``, `{}`, `[]`, `null`, `{"head":{}}`,
		`{"head":{},"name":"","body":{}}`,
		`{"head":{},"name":"FromTheFuture","body":{}}`,
		`{"head":[],"name":"Tick","body":{}}`,
		`{"head":{},"name":"Tick","body":[]}`,
		`{"head":{},"name":"Run","body":"x"}`,
		`{"head":{},"name":"Tick"}`,
	} {
		var e queue.Event
		var a queue.Action
		errs := []error{json.Unmarshal([]byte(text), &e), json.Unmarshal([]byte(text), &a)}
		for i, err := range errs {
			// JSON's null leaves a value as it is.
			if err == nil && text != "null" {
				t.Errorf("%d: %s was read", i, text)
			}
			if strings.Contains(text, "FromTheFuture") && !strings.Contains(err.Error(), "FromTheFuture") {
				t.Errorf("the error does not name the unknown type: %v", err)
			}
		}
	}
}

// The keys under which actions are done must differ between tasks.
func TestActionKeys(t *testing.T) {
	kinds := map[string]string{}
	for _, task := range allTasks() {
		kind, _ := task.Name()
		if other, twice := kinds[kind]; twice {
			t.Errorf("%s and %s have one kind", queue.TaskName(task), other)
		}
		kinds[kind] = queue.TaskName(task)
	}
	if queue.ActionKey("a", "b", 1, 0) == queue.ActionKey("a", "b", 2, 0) {
		t.Error("two attempts have one key")
	}
}

// filled returns a value of v's type with drawn content; fields that hold an
// interface stay as they are.
func filled[T any](r *rapid.T, v T) T {
	p := reflect.New(reflect.TypeOf(v))
	fill(r, p.Elem())
	return p.Elem().Interface().(T)
}

func fill(r *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringN(0, 8, -1).Draw(r, "string"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(r, "uint"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(r, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(r, "int"))
	case reflect.Float64:
		v.SetFloat(float64(rapid.IntRange(-8, 8).Draw(r, "float")) / 4)
	case reflect.Pointer:
		if rapid.Bool().Draw(r, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(r, "len"), 2))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 2).Draw(r, "len") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key)
			fill(r, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(r, v.Field(i))
			}
		}
	case reflect.Interface:
	default:
		r.Fatalf("teach fill the kind of %s", v.Type())
	}
}
