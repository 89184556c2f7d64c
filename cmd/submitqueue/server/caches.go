package server

import (
	"fmt"

	"github.com/submitqueue/submitqueue/workers"
)

// cacheFlags say what runners keep of what steps ask to have kept.
type cacheFlags struct {
	Caches    string `enum:"slot,off" default:"slot" env:"SUBMITQUEUE_CACHES" help:"What is kept of the folders that steps name as caches: slot (each runner keeps its own), or off (steps run without)."`
	Megabytes int    `name:"cache-mb" default:"10240" env:"SUBMITQUEUE_CACHE_MB" help:"Megabytes of disk that the caches of each runner may take; those that were kept longest ago go first."`
}

// Validate refuses a bound that keeps nothing, or overflows.
func (f *cacheFlags) Validate() error {
	if f.Megabytes < 1 || f.Megabytes > mostMegabytes {
		return fmt.Errorf("--cache-mb is a number from 1 to %d, not %d; --caches off keeps nothing", mostMegabytes, f.Megabytes)
	}
	return nil
}

// options are what the flags say of the runners.
func (f *cacheFlags) options() workers.Caches {
	if f.Caches == "off" {
		return workers.Caches{}
	}
	return workers.Caches{Bytes: int64(f.Megabytes) << 20}
}
