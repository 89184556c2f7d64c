// Package cacheflags has the flags that say which caches of steps runners keep. They are the
// same for the server's own runners and for those on other machines.
package cacheflags

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/cache"
	"github.com/submitqueue/submitqueue/workers/cache/s3"
)

// Flags say which caches runners keep.
type Flags struct {
	Caches    string `enum:"slot,shared,off" default:"slot" env:"SUBMITQUEUE_CACHES" help:"How the folders are kept that steps name as caches: slot (each runner keeps its own), shared (a runner that has none yet takes what is in --cache-dir or --cache-s3), or off (steps run without)."`
	Megabytes int    `name:"cache-mb" default:"10240" env:"SUBMITQUEUE_CACHE_MB" help:"Megabytes of disk that the caches of each runner may take; those that were kept longest ago go first."`
	Dir       string `name:"cache-dir" type:"path" env:"SUBMITQUEUE_CACHE_DIR" help:"With --caches shared: a folder for archives of caches, which machines may share; ten times --cache-mb may be there." placeholder:"DIR"`
	S3        string `name:"cache-s3" env:"SUBMITQUEUE_CACHE_S3" help:"With --caches shared: a store that speaks the protocol of Amazon S3, with the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY." placeholder:"s3://BUCKET/PREFIX?endpoint=HOST&region=REGION"`
}

// most bounds the megabytes, so that their number of bytes does not overflow.
const most = 1 << 20

// Validate refuses a bound that keeps nothing or overflows, and a store that is missing or
// not used.
func (f *Flags) Validate() error {
	stores := 0
	for _, given := range []string{f.Dir, f.S3} {
		if given != "" {
			stores++
		}
	}
	switch {
	case f.Megabytes < 1 || f.Megabytes > most:
		return fmt.Errorf("--cache-mb is a number from 1 to %d, not %d; --caches off keeps nothing", most, f.Megabytes)
	case f.Caches == "shared" && stores != 1:
		return errors.New("--caches shared needs either --cache-dir or --cache-s3")
	case f.Caches != "shared" && stores > 0:
		return fmt.Errorf("--cache-dir and --cache-s3 are for --caches shared, and this is --caches %s", f.Caches)
	}
	return nil
}

// Open returns the caches of runners that the flags describe.
func (f *Flags) Open(log *slog.Logger) (c workers.Caches, err error) {
	if f.Caches == "off" {
		return c, nil
	}
	c.Bytes = int64(f.Megabytes) << 20
	var store cache.Store
	switch {
	case f.Dir != "":
		if store, err = cache.OpenFolder(f.Dir, 10*c.Bytes); err != nil {
			return c, fmt.Errorf("--cache-dir: %w", err)
		}
	case f.S3 != "":
		if store, err = s3.Open(f.S3); err != nil {
			return c, fmt.Errorf("--cache-s3: %w", err)
		}
	default:
		return c, nil
	}
	c.Shared = cache.NewShared(store, log)
	return c, nil
}
