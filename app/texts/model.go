package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Models says which model a queue plans with, and why that one.
func (w Words) Models(v queue.ModelsView) string {
	switch {
	case v.Using == 0 && v.Fixed:
		return "no model is planned with: " + v.By + " has said so"
	case v.Using == 0 && len(v.List) > 0:
		return "no model is planned with: none has beaten what needs no model"
	case v.Using == 0:
		return "no model is planned with: none has been learned yet"
	case v.Unread:
		return fmt.Sprintf("model %d is in use, and cannot be read by this version of the server: no model is planned with", v.Using)
	}
	text := fmt.Sprintf("model %d is planned with", v.Using)
	if v.Fixed {
		text += ", as " + v.By + " has said"
	}
	var parts []string
	for _, m := range v.List {
		if m.Version != v.Using {
			continue
		}
		if m.Good.Used {
			parts = append(parts, "its chances weigh "+Percent(v.Chances))
		}
		if m.Took.Used {
			parts = append(parts, "its durations weigh "+Percent(v.Durations))
		}
	}
	if len(parts) > 0 {
		text += "; by what came of them lately " + strings.Join(parts, " and ") + " against what is known without it"
	}
	return text
}

// ModelCause says why a model was learned.
func (w Words) ModelCause(c queue.LearnCause) string {
	switch c {
	case queue.LearnFirst:
		return "the first"
	case queue.LearnDaily:
		return "daily"
	case queue.LearnGrown:
		return "many new changes"
	case queue.LearnDrift:
		return "the one before had become worse than none"
	case queue.LearnAsk:
		return "asked for"
	}
	return string(c)
}

// ModelPart says whether a part of a model is used, and by which figures.
func (w Words) ModelPart(p queue.ModelPart) string {
	text := "used"
	if !p.Used {
		text = "not used: " + p.Why
	}
	var said []string
	for i, f := range p.Figures {
		one := f.Name + " "
		if f.LogLoss > 0 || f.Brier > 0 {
			one += fmt.Sprintf("%.4f", f.LogLoss)
			if i == 0 {
				one = fmt.Sprintf("log loss: %s; Brier score %.4f, AUC %.3f, calibration error %.3f", one, f.Brier, f.AUC, f.Calibration)
			}
		} else {
			one += fmt.Sprintf("%.1f %%", f.MAPE)
			if i == 0 {
				one = fmt.Sprintf("mean error: %s; NLL %.3f, %.1f %% within the 90 %% interval", one, f.NLL, 100*f.Coverage)
			}
		}
		said = append(said, one)
	}
	if len(said) == 0 {
		return text
	}
	return text + " (" + said[0] + "; without a model: " + strings.Join(said[1:], ", ") + fmt.Sprintf("; on %d later changes)", p.Figures[0].Rows)
}

func learnedNote(_ voice, n queue.Note) (what, more string) {
	if len(n.Reason.Names) < 2 {
		return "A model was learned", ""
	}
	return "Model " + n.Reason.Names[0] + " was learned", Words{}.ModelCause(queue.LearnCause(n.Reason.Names[1]))
}

func modelNote(v voice, n queue.Note) (what, more string) {
	by := noteBy(v, n)
	if len(n.Reason.Names) < 2 {
		return "Another model was chosen", by
	}
	switch text := n.Reason.Names[1]; text {
	case queue.ModelLearn:
		return "A new model was asked for", by
	case queue.ModelNone:
		return "No model is planned with", by
	case queue.ModelNewest:
		return "The newest model is planned with", by
	default:
		return "Model " + OneLine(text, 10) + " is planned with", by
	}
}
