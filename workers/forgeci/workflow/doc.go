// Package workflow reads workflows of GitHub Actions: the events that start them, the checks
// that they report, and whether a result on one branch holds for another.
//
// It reads YAML and judges; it runs nothing and asks nobody. A part that it cannot
// read is an error or a reason, never a yes: of
//
//	on: {push: {branches: ['**']}}
//	jobs:
//	  test:   {runs-on: ubuntu-latest, steps: [{uses: actions/checkout@v4}, {run: make test}]}
//	  deploy: {needs: test, if: "github.ref == 'refs/heads/main'", steps: [{run: make deploy}]}
//
// Differs says nothing of the check test, and of deploy that it goes by github.ref.
package workflow
