package sim

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// learn makes a model of the queue's past so far. It takes no virtual time, as a server
// learns beside its turns.
func (d *driver) learn(action string, t queue.Learn) queue.Learnt {
	if !d.o.Learn {
		return queue.Learnt{Action: action, Why: "this run learns nothing"}
	}
	m, err := predict.Learn(d.rows, t, d.now, predict.TrainOptions{})
	if err != nil {
		return queue.Learnt{Action: action, Why: err.Error()}
	}
	return queue.Learnt{Action: action, Model: m}
}
