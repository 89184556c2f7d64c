package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestRefusalOf(t *testing.T) {
	for rule, want := range map[string]queue.RefusalKind{
		"refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission":        queue.RefusalContent,
		"error: GH001: Large files detected. You may want to try Git Large File Storage - https://git-lfs.github.com.":                 queue.RefusalContent,
		"error: GH013: Repository rule violations found for refs/heads/main.\n- GITHUB PUSH PROTECTION\n- Push cannot contain secrets": queue.RefusalContent,
		"error: GH006: Protected branch update failed for refs/heads/main.\nerror: You're not authorized to push to this branch.":      queue.RefusalBranch,
		"error: GH013: Repository rule violations found for refs/heads/main.\n- Changes must be made through a pull request.":          queue.RefusalBranch,
		"error: GH006: Protected branch update failed for refs/heads/main.\nerror: Required status check \"ci\" is expected.":          queue.RefusalBranch,
		"GitLab: You are not allowed to push code to protected branches on this project.":                                              queue.RefusalBranch,
		"pre-receive hook declined":                                        queue.RefusalUnknown,
		"This branch must not contain merge commits.":                      queue.RefusalUnknown,
		"GitLab: You are not allowed to push.":                             queue.RefusalUnknown,
		"fatal error in commit_refs\nfailure":                              queue.RefusalTrouble,
		"failure":                                                          queue.RefusalTrouble,
		"Internal Server Error":                                            queue.RefusalTrouble,
		"GitLab: Internal API unreachable\npre-receive hook declined":      queue.RefusalTrouble,
		"error: GH013: Repository rule violations found: timeout\nfailure": queue.RefusalUnknown,
		"there was a failure somewhere":                                    queue.RefusalStrange,
		"the moon is full":                                                 queue.RefusalStrange,
		"":                                                                 queue.RefusalUnknown,
		"error: GH001: Large files detected.\nerror: File failed is too big": queue.RefusalContent,
		// A file called like a refusal of the branch pauses nothing.
		"refusing to allow a GitHub App to create or update workflow `.github/workflows/You are not allowed to push code.yml` without `workflows` permission": queue.RefusalContent,
	} {
		if got := queue.RefusalOf(rule); got != want {
			t.Errorf("%q is %q, want %q", rule, got, want)
		}
	}
}

func TestRuleOfRefusal(t *testing.T) {
	for kind, want := range map[queue.RefusalKind]bool{queue.RefusalUnknown: true, queue.RefusalContent: true, queue.RefusalBranch: true,
		queue.RefusalTrouble: false, queue.RefusalStrange: false} {
		if kind.Rule() != want {
			t.Errorf("%q: %v", kind, !want)
		}
	}
}
