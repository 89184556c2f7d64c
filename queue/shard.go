package queue

import "slices"

// A shard is a part of a job: the job's step on some of its targets, which one runner
// verifies on its own. The core plans jobs, and learns of shards by their results
// (JobDone.Asked): the first result for some of a job's targets divides the job in the
// build's list, so that each shard passes, fails or stays unknown like a separate job.
//
// For example, of a job of step test on a, b and c, a result for a and b that has failed
// without naming a target fails the set {a, b}; c is another job from then on, and when no
// result of it comes until the build ends, c stays unknown.

// JobOf returns the place of the open job that a result of a step belongs to, and those
// of its keys that the result is for: the keys of the targets asked, or all keys where
// no targets are named. It returns -1 where no open job was asked for all of these
// targets.
func (b *Build) JobOf(step Digest, asked []string) (at int, keys []Key) {
	for i := range b.Jobs {
		j := &b.Jobs[i]
		if j.Done || j.Step.Digest() != step {
			continue
		}
		if len(asked) == 0 {
			return i, j.Keys
		}
		want := map[string]bool{}
		for _, t := range asked {
			want[t] = true
		}
		keys := slices.DeleteFunc(slices.Clone(j.Keys), func(k Key) bool { return !want[k.Target] })
		if len(keys) == len(want) {
			return i, keys
		}
	}
	return -1, nil
}

// Divide splits the job at a place: the given keys become a separate job there, followed
// by a job with the other keys. It returns the job of the given keys. If these are all
// keys of the job, it stays whole.
func (b *Build) Divide(at int, keys []Key) *Job {
	if j := &b.Jobs[at]; len(keys) < len(j.Keys) {
		own, rest := *j, *j
		own.Keys, own.Expect, rest.Expect = keys, nil, nil
		rest.Keys = slices.DeleteFunc(slices.Clone(j.Keys), func(k Key) bool { return slices.Contains(keys, k) })
		b.Jobs = slices.Concat(b.Jobs[:at], []Job{own, rest}, b.Jobs[at+1:])
	}
	return &b.Jobs[at]
}

// Steps counts the steps of a build, and the steps with results of all their shards.
func (b *Build) Steps() (done, all int) {
	open := map[string]bool{} // by the step's name
	for _, j := range b.Jobs {
		open[j.Step.Name] = open[j.Step.Name] || !j.Done
	}
	for _, is := range open {
		if !is {
			done++
		}
	}
	return done, len(open)
}
