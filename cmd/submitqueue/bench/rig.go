package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/redisstore"
)

// rigOptions describe the rig of a bench.
type rigOptions struct {
	shape  benchShape
	redis  string      // as the flag --redis
	orders benchOrders // for the server; newRig fills in the places of data, Redis and repository
	keep   bool        // the folder is not removed
	forge  func(ctx context.Context, dir string, repo *benchRepo) (benchForge, error)
}

// rig is a repository, a forge that has it, a Redis and a server, in a separate folder.
type rig struct {
	folder string
	data   string // of the server
	repo   *benchRepo
	host   benchForge
	store  *redisstore.Store
	kind   string // of Redis, for people
	orders benchOrders
	child  *benchChild

	closes []func() error // in the order of making
}

// newRig makes a rig with a server that runs; close ends all of it but the server.
func newRig(ctx context.Context, o rigOptions) (_ *rig, err error) {
	r := &rig{orders: o.orders}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.folder, err = os.MkdirTemp("", "submitqueue-bench-"); err != nil {
		return nil, err
	}
	r.closes = append(r.closes, func() error {
		if o.keep {
			fmt.Println("kept:", r.folder)
			return nil
		}
		return os.RemoveAll(r.folder)
	})
	if r.repo, err = makeBenchRepo(ctx, filepath.Join(r.folder, "bench.git"), o.shape); err != nil {
		return nil, err
	}
	if r.host, err = o.forge(ctx, r.folder, r.repo); err != nil {
		return nil, err
	}
	r.closes = append(r.closes, r.host.close)
	r.data = filepath.Join(r.folder, "data")
	if err := os.MkdirAll(r.data, 0o700); err != nil {
		return nil, err
	}
	var closeStore func() error
	r.store, closeStore, r.kind, err = redisstore.Auto(ctx, redisstore.AutoOptions{URL: strings.TrimPrefix(o.redis, "auto"), DataDir: r.data, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	r.closes = append(r.closes, closeStore)
	r.orders.Data, r.orders.Redis = r.data, r.store.URL()
	r.host.orders(&r.orders)
	r.child, err = startBenchChild(ctx, r.orders)
	return r, err
}

// close ends all parts but the server, newest first.
func (r *rig) close() error {
	var errs []error
	for i := len(r.closes) - 1; i >= 0; i-- {
		errs = append(errs, r.closes[i]())
	}
	return errors.Join(errs...)
}

// failed ends the server after an error.
func (r *rig) failed(err error) error {
	_, stopped := r.child.stop()
	return errors.Join(fmt.Errorf("%w (give --keep to look at %s)", err, filepath.Join(r.data, "server.log")), stopped)
}

// onHub puts a rig's repository on a simulated GitHub.
func onHub(asks bool, takes time.Duration) func(context.Context, string, *benchRepo) (benchForge, error) {
	return func(ctx context.Context, dir string, repo *benchRepo) (benchForge, error) {
		return newBenchHub(ctx, dir, repo, asks, takes)
	}
}
