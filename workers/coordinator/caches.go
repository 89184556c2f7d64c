package coordinator

import (
	"io/fs"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers/cache"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// CachesOf are the caches of a build's one job as a runner keeps them. files are those of
// the commit. platform, such as "linux-arm64", keeps apart what runners of several kinds
// share in one store. A build that is to run without them (queue.Build.Cold) leaves them
// for later ones. Paths that the commit has itself are left out, because a runner would
// unpack over them; so is a cache whose key asks for too much.
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

// cached reports whether a job has had what other builds have left. Our own runner says it;
// of others it may be so wherever the job named a cache.
func (j *job) cached(u protocol.Update) bool {
	if u.Cached != nil {
		return *u.Cached
	}
	return len(j.caches) > 0 && !j.a.Build.Cold()
}

// platform is what a machine says that it is, of which caches are kept apart; the
// coordinator's lock guards that.
func (m *machine) platform() string {
	return clip(m.info.Platform, 32) + "-" + clip(m.info.Architecture, 32)
}
