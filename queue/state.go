package queue

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// State is all that is known of one queue: facts only. Order, conflicts and
// plan are computed from them and not stored.
type State struct {
	Main       Main
	Slots      int      // builds that can run at once, under the steps in force
	Capacity   Capacity // the parts of Slots; stored only if the forge's CI builds, too, or hosts are known
	Changes    map[ChangeID]*Change
	Requests   map[string]*Request
	Pulls      map[int]*Pull
	Footprints map[ChangeID]*Footprint
	Links      map[LinkID]*Link
	Steps      map[Digest]*StepSet
	Builds     map[BuildID]*Build
	Ledger     map[Digest]*Entry
	Controls   map[string]*Control // by Aim.ID
	Durations  map[string]*Duration
	Beliefs    map[ChangeID]*Belief
	Authors    map[string]*Author // by name
	Areas      map[string]*Area   // by directory
	Promises   map[ChangeID]*Promises
	Learned    Learned
	Model      Models
	Models     map[int]*Model       // by version
	Outcomes   map[string]*Outcomes // by target
	Accuracy   float64              // running share of predictions on arrival that came true; 0: none yet
	Actions    map[string]*Action
	Hunts      map[string]*Hunt // for what turned main red
	Hosts      map[string]*Host // by name
	Push       *Push            // the landing that is under way, or nil
	Spent      []Instant        // when the builds of the last hour were started; kept only under builds_per_hour
	Train      []ChangeID       // changes chosen to land next, in this order; sticky, so that their tree keys can be verified
}

// NewState returns the state of a queue that nobody has used yet.
func NewState(branch string) *State {
	return &State{
		Main:       Main{Branch: branch},
		Changes:    map[ChangeID]*Change{},
		Requests:   map[string]*Request{},
		Pulls:      map[int]*Pull{},
		Footprints: map[ChangeID]*Footprint{},
		Links:      map[LinkID]*Link{},
		Steps:      map[Digest]*StepSet{},
		Builds:     map[BuildID]*Build{},
		Ledger:     map[Digest]*Entry{},
		Controls:   map[string]*Control{},
		Durations:  map[string]*Duration{},
		Beliefs:    map[ChangeID]*Belief{},
		Authors:    map[string]*Author{},
		Areas:      map[string]*Area{},
		Promises:   map[ChangeID]*Promises{},
		Actions:    map[string]*Action{},
		Hunts:      map[string]*Hunt{},
		Hosts:      map[string]*Host{},
		Models:     map[int]*Model{},
		Outcomes:   map[string]*Outcomes{},
	}
}

// Pull is what the queue remembers of a pull request beyond its changes.
type Pull struct {
	Number   int        `json:"number"`
	Active   ChangeID   `json:"active,omitempty"`    // its change without a verdict
	Last     ChangeID   `json:"last,omitempty"`      // its change with the latest verdict
	Try      ChangeID   `json:"try,omitempty"`       // the try that is under way
	Tried    ChangeID   `json:"tried,omitempty"`     // the latest try that is over
	Trusted  []Trusted  `json:"trusted,omitempty"`   // people with the right to land it because somebody else says so
	Notice   Reason     `json:"notice,omitzero"`     // the answer to the latest command that was not followed
	NoticeTo string     `json:"notice_to,omitempty"` // the author of the command
	Shown    Digest     `json:"shown,omitempty"`     // digest of the facts its comment shows
	Said     Said       `json:"said,omitzero"`       // its comment, as far as we have written it
	Edited   Instant    `json:"edited,omitempty"`    // since when the comment is not as we have written it, or may be so; it is to be written anew
	Passing  bool       `json:"passing,omitempty"`   // the facts have changed while its comment was being written
	Head     CommitID   `json:"head,omitempty"`      // the head as last heard
	Pushed   HeadMoved  `json:"pushed,omitzero"`     // the latest push with a known time
	Gone     bool       `json:"gone,omitempty"`      // the forge says that it was merged
	Branch   string     `json:"branch,omitempty"`    // its head's, of this repository; empty: a fork's, or not known. Hostile text
	Moved    []CommitID `json:"moved,omitempty"`     // where pushes of ours have moved that branch, or meant to: the latest MostMoved, in order
	Landed   bool       `json:"landed,omitempty"`    // its change is on the queue's branch
	Ended    int        `json:"ended,omitempty"`     // its changes that have had a verdict
	Pushes   int        `json:"pushes,omitempty"`    // how often its head was heard to be another one
	Auto     *Auto      `json:"auto,omitempty"`      // facts to enter it by a rule; nil: none
	Answered Instant    `json:"answered,omitempty"`  // when a command on it last had any answer
	Recalled Word       `json:"recalled,omitzero"`   // the latest command, of those that were followed, to take it out
	At       Instant    `json:"at"`
}

// Trusted is a person with the right to land one pull request because another person has said
// so: at one head if the trusted person has no write access, else at any head, until it is
// closed.
type Trusted struct {
	User string   `json:"user"`
	By   string   `json:"by"`
	Head CommitID `json:"head"`           // empty: none that By has seen
	Made Instant  `json:"made,omitempty"` // of the command, by the forge's clock; 0: not told
	At   Instant  `json:"at"`
}

// Kind is a kind of record; each is one hash in the store.
type Kind string

// The kinds of records.
const (
	KindMeta      Kind = "meta" // one record each: main, slots, push, train
	KindChange    Kind = "change"
	KindRequest   Kind = "request"
	KindPull      Kind = "pull"
	KindFootprint Kind = "footprint"
	KindLink      Kind = "link"
	KindSteps     Kind = "steps"
	KindBuild     Kind = "build"
	KindEntry     Kind = "entry"
	KindControl   Kind = "control"
	KindDuration  Kind = "duration"
	KindBelief    Kind = "belief"
	KindAction    Kind = "action"
	KindHunt      Kind = "hunt"
	KindHost      Kind = "host"
	KindAuthor    Kind = "author"
	KindArea      Kind = "area"
	KindPromises  Kind = "promises"
	KindModel     Kind = "model"
	KindOutcomes  Kind = "outcomes"
)

// Kinds returns all kinds of records.
func Kinds() []Kind {
	return []Kind{KindMeta, KindChange, KindRequest, KindPull, KindFootprint, KindLink, KindSteps,
		KindBuild, KindEntry, KindDuration, KindBelief, KindAction, KindHunt, KindControl, KindHost, KindAuthor, KindArea, KindPromises, KindModel, KindOutcomes}
}

// Ref names a record.
type Ref struct {
	Kind Kind
	ID   string
}

// Record is one record as it is stored: JSON under its name.
type Record struct {
	Ref
	Data []byte
}

// Names of the meta records.
const (
	MetaMain     = "main"
	MetaSlots    = "slots"
	MetaCapacity = "capacity"
	MetaPush     = "push"
	MetaTrain    = "train"
	MetaSpent    = "spent"
	MetaAccuracy = "accuracy"
	MetaLearned  = "learned"
	MetaModel    = "model"
)

// Encode returns the record of that name as the state holds it now, and false
// where the state holds none (it is to be deleted).
func (s *State) Encode(r Ref) (Record, bool, error) {
	v, ok := s.lookup(r)
	if !ok {
		return Record{Ref: r}, false, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return Record{}, false, fmt.Errorf("queue: encoding %s %s: %w", r.Kind, r.ID, err)
	}
	return Record{Ref: r, Data: data}, true, nil
}

func (s *State) lookup(r Ref) (any, bool) {
	switch r.Kind {
	case KindMeta:
		switch r.ID {
		case MetaMain:
			return s.Main, true
		case MetaSlots:
			return s.Slots, true
		case MetaCapacity:
			return s.Capacity, s.Capacity != Capacity{}
		case MetaPush:
			return s.Push, s.Push != nil
		case MetaTrain:
			return s.Train, len(s.Train) > 0
		case MetaSpent:
			return s.Spent, len(s.Spent) > 0
		case MetaAccuracy:
			return s.Accuracy, s.Accuracy != 0
		case MetaLearned:
			return s.Learned, s.Learned.Pace != nil || s.Learned.Good != Rate{} || s.Learned.Pair != Rate{} || s.Learned.Main != Rate{} || s.Learned.Failing != 0 || s.Learned.Foresight.N != 0 || s.Learned.Promised != 0 || s.Learned.Took != nil ||
				s.Learned.Shift != Shift{} || s.Learned.Credit != Credit{}
		case MetaModel:
			return s.Model, s.Model != Models{}
		}
		return nil, false
	case KindChange:
		return find(s.Changes, ChangeID(r.ID))
	case KindRequest:
		return find(s.Requests, r.ID)
	case KindPull:
		n := 0
		if _, err := fmt.Sscan(r.ID, &n); err != nil {
			return nil, false
		}
		return find(s.Pulls, n)
	case KindFootprint:
		return find(s.Footprints, ChangeID(r.ID))
	case KindLink:
		return find(s.Links, LinkID(r.ID))
	case KindSteps:
		return find(s.Steps, Digest(r.ID))
	case KindBuild:
		return find(s.Builds, BuildID(r.ID))
	case KindEntry:
		return find(s.Ledger, Digest(r.ID))
	case KindControl:
		return find(s.Controls, r.ID)
	case KindDuration:
		return find(s.Durations, r.ID)
	case KindBelief:
		return find(s.Beliefs, ChangeID(r.ID))
	case KindAction:
		return find(s.Actions, r.ID)
	case KindHunt:
		return find(s.Hunts, r.ID)
	case KindHost:
		return find(s.Hosts, r.ID)
	case KindAuthor:
		return find(s.Authors, r.ID)
	case KindArea:
		return find(s.Areas, r.ID)
	case KindPromises:
		return find(s.Promises, ChangeID(r.ID))
	case KindModel:
		n, err := strconv.Atoi(r.ID)
		if err != nil {
			return nil, false
		}
		return find(s.Models, n)
	case KindOutcomes:
		return find(s.Outcomes, r.ID)
	}
	return nil, false
}

func find[K comparable, V any](m map[K]*V, k K) (any, bool) {
	v, ok := m[k]
	return v, ok
}

// Load puts a stored record into the state. An error names the record; it
// means that the store holds what this version cannot read.
func (s *State) Load(r Record) error {
	var err error
	switch r.Kind {
	case KindMeta:
		switch r.ID {
		case MetaMain:
			err = json.Unmarshal(r.Data, &s.Main)
		case MetaSlots:
			err = json.Unmarshal(r.Data, &s.Slots)
		case MetaCapacity:
			err = json.Unmarshal(r.Data, &s.Capacity)
		case MetaPush:
			err = json.Unmarshal(r.Data, &s.Push)
		case MetaTrain:
			err = json.Unmarshal(r.Data, &s.Train)
		case MetaSpent:
			err = json.Unmarshal(r.Data, &s.Spent)
		case MetaAccuracy:
			err = json.Unmarshal(r.Data, &s.Accuracy)
		case MetaLearned:
			err = json.Unmarshal(r.Data, &s.Learned)
		case MetaModel:
			err = json.Unmarshal(r.Data, &s.Model)
		default:
			err = fmt.Errorf("not known to this version")
		}
	case KindChange:
		err = load(s.Changes, r, func(v *Change) ChangeID { return v.ID })
	case KindRequest:
		err = load(s.Requests, r, func(v *Request) string { return v.ID })
	case KindPull:
		err = load(s.Pulls, r, func(v *Pull) int { return v.Number })
	case KindFootprint:
		err = load(s.Footprints, r, func(*Footprint) ChangeID { return ChangeID(r.ID) })
	case KindLink:
		err = load(s.Links, r, func(v *Link) LinkID { return v.ID })
	case KindSteps:
		err = load(s.Steps, r, func(v *StepSet) Digest { return v.ID })
	case KindBuild:
		err = load(s.Builds, r, func(v *Build) BuildID { return v.ID })
	case KindEntry:
		err = load(s.Ledger, r, func(v *Entry) Digest { return v.ID })
	case KindControl:
		err = load(s.Controls, r, func(v *Control) string { return v.ID() })
	case KindDuration:
		err = load(s.Durations, r, func(v *Duration) string { return v.ID })
	case KindBelief:
		err = load(s.Beliefs, r, func(v *Belief) ChangeID { return v.Change })
	case KindAction:
		err = load(s.Actions, r, func(v *Action) string { return v.Key })
	case KindHunt:
		err = load(s.Hunts, r, func(v *Hunt) string { return v.ID })
	case KindHost:
		err = load(s.Hosts, r, func(v *Host) string { return v.Name })
	case KindAuthor:
		err = load(s.Authors, r, func(v *Author) string { return v.Name })
	case KindArea:
		err = load(s.Areas, r, func(v *Area) string { return v.Dir })
	case KindPromises:
		err = load(s.Promises, r, func(v *Promises) ChangeID { return v.Change })
	case KindModel:
		err = load(s.Models, r, func(v *Model) int { return v.Version })
	case KindOutcomes:
		err = load(s.Outcomes, r, func(v *Outcomes) string { return v.Target })
	default:
		err = fmt.Errorf("not known to this version")
	}
	if err != nil {
		return fmt.Errorf("queue: reading %s %s: %w", r.Kind, r.ID, err)
	}
	return nil
}

func load[K comparable, V any](m map[K]*V, r Record, key func(*V) K) error {
	v := new(V)
	if err := json.Unmarshal(r.Data, v); err != nil {
		return err
	}
	m[key(v)] = v
	return nil
}
