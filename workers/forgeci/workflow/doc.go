// Package workflow reads workflows of GitHub Actions: the events that start them, the checks
// that they report, and whether a result on one branch holds for another.
//
// It only reads YAML: it runs no command and sends no request. A part that it cannot read is an
// error or a reason, never a yes. For example, with
//
//	on: {push: {branches: ['**']}}
//	jobs:
//	  test:   {runs-on: ubuntu-latest, steps: [{uses: actions/checkout@v4}, {run: make test}]}
//	  deploy: {needs: test, if: "github.ref == 'refs/heads/main'", steps: [{run: make deploy}]}
//
// Differs has no reason against the check test. Its reason against deploy is that it goes by
// github.ref.
package workflow
