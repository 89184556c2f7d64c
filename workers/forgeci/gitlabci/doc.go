// Package gitlabci reads a .gitlab-ci.yml as far as it matters to builds of the queue: does
// a branch get a pipeline, and which jobs are in it.
//
// It knows rules, workflow rules, only and except, extends within the file, and variables that
// the file itself sets. Everything that it cannot know, such as variables of the project, is
// Maybe, and so is every answer that depends on it: it never guesses Yes or No.
package gitlabci
