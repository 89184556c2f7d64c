package coordinator

import (
	"io/fs"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers/cache"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// CachesOf returns the caches of a build's one job, in the form for runners. files are the
// files of the commit. platform, such as "linux-arm64", separates the caches of different kinds
// of runners in a shared store. A build that is to run without caches (queue.Build.Cold) still
// fills them for later builds. Paths that the commit itself has are left out, because a runner
// would unpack over them. A cache with a key that selects too much is left out, too.
func CachesOf(files fs.FS, b queue.Build, platform string) (caches []protocol.Cache) {
	policy := "pull-push"
	if b.Cold() {
		policy = "push"
	}
	for _, c := range b.Jobs[0].Step.Caches {
		id, err := cache.ID(files, b.Queue, c)
		if err != nil {
			continue
		}
		var free []string
		for _, path := range c.Paths {
			if _, err := fs.Lstat(files, path); err != nil {
				free = append(free, path)
			}
		}
		if len(free) > 0 {
			caches = append(caches, protocol.Cache{Key: "submitqueue-" + platform + "-" + id, Policy: policy, Paths: free, When: "on_success", Unkeyed: len(c.Key) == 0})
		}
	}
	return caches
}

// cached reports whether a job may have had caches of other builds. Our own runner says it; for
// other runners it is assumed if the job could read a cache.
func (j *job) cached(u protocol.Update) bool {
	if u.Cached != nil {
		return *u.Cached
	}
	return len(j.caches) > 0 && !j.a.Build.Cold()
}

// platform is the system and the processor that a machine names. Each platform has separate
// caches. The coordinator's lock guards m.
func (m *machine) platform() string {
	return clip(m.info.Platform, 32) + "-" + clip(m.info.Architecture, 32)
}
