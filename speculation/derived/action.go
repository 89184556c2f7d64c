package derived

import (
	"github.com/submitqueue/submitqueue/queue"
)

func TaskKey(t queue.Task) string {
	kind, subject := t.Name()
	return kind + "/" + subject
}
