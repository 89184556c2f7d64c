package queue

import "slices"

// A shard is a part of a job: the job's step on some of its targets, which one runner
// verifies by itself. The core plans jobs, and learns of shards by their results
// (JobDone.Asked): the first result for some of a job's targets divides the job in the
// build's list, so that each shard passes, fails or stays unknown like a job of its own.
//
// For example, of a job of step test on a, b and c, a result for a and b that has failed
// without naming a target fails the set {a, b}; c is another job from then on, and when no
// result of it comes until the build ends, c stays unknown.

// JobOf returns the place of the open job that a result of a step is of, and the keys of
// it that the result is for: those of the targets asked, or all where none are named. It
// returns -1 where there is no open job that was asked for all of them.
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

// Divide makes keys of the job at a place a job of their own there, with the job's other
// keys behind it, and returns the job. All of the job's keys leave it whole.
func (b *Build) Divide(at int, keys []Key) *Job {
	if j := &b.Jobs[at]; len(keys) < len(j.Keys) {
		own, rest := *j, *j
		own.Keys, own.Expect, rest.Expect = keys, nil, nil
		rest.Keys = slices.DeleteFunc(slices.Clone(j.Keys), func(k Key) bool { return slices.Contains(keys, k) })
		b.Jobs = slices.Concat(b.Jobs[:at], []Job{own, rest}, b.Jobs[at+1:])
	}
	return &b.Jobs[at]
}

// Steps counts the steps of a build, and those of which each shard has its result.
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
