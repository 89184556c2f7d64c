// Package gitlabci reads a .gitlab-ci.yml as far as it matters to builds of the queue: does
// a branch get a pipeline, and which jobs are in it.
//
// It knows rules, workflow rules, only and except, extends within the file, and variables
// that the file itself sets. What it cannot know, such as variables of the project, is
// Maybe, and so is what follows from that: it never says Yes or No of what it has guessed.
package gitlabci
