package app

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// pastCommit describes a commit of main's past for people.
func pastCommit(l mirror.PastCommit) queue.HuntCommit {
	c := queue.HuntCommit{Commit: l.Commit, Tree: l.Tree, Subject: texts.ClipLine(l.Subject, 120), Author: texts.ClipLine(l.Author, 60), Change: l.Change}
	if n, err := strconv.Atoi(before(string(l.Change), ".")); err == nil && n > 0 {
		c.Number = n
	} else {
		c.Number = numberIn(l.Subject)
	}
	return c
}

func before(s, sep string) string {
	s, _, _ = strings.Cut(s, sep)
	return s
}

// How forges name the pull request in the message that their own buttons write.
var (
	mergedNumber   = regexp.MustCompile(`^Merge pull request #([1-9][0-9]{0,8})\b`)
	squashedNumber = regexp.MustCompile(`\((?:#|!)([1-9][0-9]{0,8})\)$`)
)

// numberIn returns the pull request that a commit's first line names, or 0.
func numberIn(subject string) int {
	for _, form := range []*regexp.Regexp{mergedNumber, squashedNumber} {
		if m := form.FindStringSubmatch(strings.TrimSpace(subject)); m != nil {
			n, _ := strconv.Atoi(m[1]) // no more than nine digits
			return n
		}
	}
	return 0
}
