package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// Models are what a queue has learned of its own past.
type Models struct {
	Queue    string         `json:"queue"`
	ModelUse                // which model is used
	Text     string         `json:"text"` // the same in words
	Seen     int            `json:"seen"` // changes that have landed or failed since the queue began
	Tried    *ModelAttempt  `json:"tried,omitempty"`
	Versions []ModelVersion `json:"versions"` // the newest first
}

// ModelUse is which model a queue uses.
type ModelUse struct {
	Using     int     `json:"using"`           // version; 0: none
	Fixed     bool    `json:"fixed,omitempty"` // somebody has chosen it, or has chosen to use none
	By        string  `json:"by,omitempty"`    // the author of that choice
	Chances   float64 `json:"chances"`         // how much its chances are trusted, from 0 to 1
	Durations float64 `json:"durations"`       // how much its durations are trusted
	Unread    bool    `json:"unread,omitempty"`

	Learning bool      `json:"learning,omitempty"` // a new one is being made
	Latest   time.Time `json:"latest,omitzero"`    // when the latest was asked for
}

// ModelAttempt is the latest attempt to learn.
type ModelAttempt struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause"`
	Why   string    `json:"why,omitempty"` // why it has made no model; empty: it has made one
}

// ModelVersion is one model, without what it has learned.
type ModelVersion struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Cause   string    `json:"cause"`
	Changes int       `json:"changes"` // how many changes it was made from
	First   time.Time `json:"first"`   // when the first of these was analyzed
	Last    time.Time `json:"last"`
	Good    ModelPart `json:"good"` // chances that changes are sound on their own
	Took    ModelPart `json:"took"` // durations of first builds
}

// ModelPart is one part of a model, with its figures.
type ModelPart struct {
	queue.ModelPart
	Text string `json:"text"` // in words
}

// ModelCommand chooses the model that the queue plans with.
type ModelCommand struct {
	Queue  string `json:"queue,omitempty"`
	User   string `json:"user,omitempty"` // as in LandCommand; needs the permission over the queue
	Choose string `json:"choose"`         // a version, "none", "newest", or "learn" to have a new one made
}

func (s *Handlers) models(c echo.Context) error {
	v, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	s, m := s.in(v.Main.Branch, v.Mark), v.Models
	out := Models{Queue: v.Name, ModelUse: modelUseOf(m), Text: s.o.Words.Models(m), Seen: m.Seen, Versions: []ModelVersion{}}
	if t := m.Tried; t.At != 0 {
		out.Tried = &ModelAttempt{At: moment(t.At), Cause: string(t.Cause), Why: t.Why}
	}
	for _, x := range m.List {
		out.Versions = append(out.Versions, ModelVersion{x.Version, moment(x.At), string(x.Cause), x.Changes, moment(x.First), moment(x.Last),
			ModelPart{x.Good, s.o.Words.ModelPart(x.Good)}, ModelPart{x.Took, s.o.Words.ModelPart(x.Took)}})
	}
	return answer(c, out)
}

func modelUseOf(m queue.ModelsView) ModelUse {
	return ModelUse{m.Using, m.Fixed, m.By, m.Chances, m.Durations, m.Unread, m.Learning || m.Asked != nil, moment(m.Tried.At)}
}

// model answers with one model as `submitqueue train` writes it: the one in use where no
// version is named.
func (s *Handlers) model(c echo.Context) error {
	v, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	version := v.Models.Using
	if text := c.QueryParam("version"); text != "" {
		if version, err = strconv.Atoi(text); err != nil || version < 1 {
			return &Problem{http.StatusBadRequest, "version is a number from 1 up."}
		}
	}
	if x := versionOf(v.Models, version); x != nil {
		return answer(c, json.RawMessage([]byte(x.Text)))
	}
	if version == 0 {
		return &Problem{http.StatusNotFound, "The queue plans with no model: " + s.o.Words.Models(v.Models) + "."}
	}
	return noModel(version)
}

// versionOf returns a model by its version; nil where it is not kept.
func versionOf(m queue.ModelsView, version int) *queue.Model {
	for _, x := range m.List {
		if x.Version == version {
			return x
		}
	}
	return nil
}

func noModel(version int) error {
	return &Problem{http.StatusNotFound, fmt.Sprintf("Model %d is not kept, or was never made; `submitqueue model` and GET /api/models list those that are.", version)}
}

func (s *Handlers) chooseModel(c echo.Context) error {
	var cmd ModelCommand
	if err := readCommand(c, &cmd); err != nil {
		return err
	}
	command := "/queue model " + cmd.Choose
	if p := queue.ParseCommands(command); !plainName(cmd.Choose, 20) || len(p) != 1 || p[0].Verb != queue.CommandModel {
		return &Problem{http.StatusBadRequest, "`choose` is the version of a model, none, newest or learn."}
	}
	if version, err := strconv.Atoi(cmd.Choose); err == nil { // for a version that there is not, the queue itself would only say that it knows no such command
		v, err := s.Named(cmd.Queue)
		if err != nil {
			return err
		}
		switch x := versionOf(v.Models, version); {
		case x == nil:
			return noModel(version)
		case !x.Useful():
			return &Problem{http.StatusConflict, fmt.Sprintf("Model %d is no better than what needs no model, and is not planned with.", version)}
		}
	}
	return s.aboutQueue(c, cmd.Queue, cmd.User, command)
}
