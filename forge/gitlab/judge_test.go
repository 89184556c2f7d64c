package gitlab_test

import (
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab/described"
)

// judge holds every exchange of a test to GitLab's own description, where that is.
func judge(t *testing.T) func(fake.Exchange) { return described.Judge(t) }
