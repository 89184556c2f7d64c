package workers

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/submitqueue/submitqueue/queue/sole"
)

// takeSlots takes the folder of the slots. A second process there would give the slots to users
// of its own, end the steps that run in them, and build in the same checkouts. Without slots
// there is nothing to take.
func (o *PoolOptions) takeSlots() error {
	if o.Slots == 0 {
		return nil
	}
	if err := os.MkdirAll(o.SlotsDir, 0o711); err != nil {
		return fmt.Errorf("workers: slots: %w", err)
	}
	lock, err := sole.Take(context.Background(), o.SlotsDir)
	if taken := (*sole.Taken)(nil); errors.As(err, &taken) {
		return fmt.Errorf("workers: the folder of checkouts: %w: end that one, or name another folder (--dir of a runner, --slots-dir of a server)", err)
	}
	if err != nil {
		return fmt.Errorf("workers: slots: %w", err)
	}
	o.taken = lock
	return nil
}
