package config

import (
	"path"
	"slices"
	"strings"
)

// The functions here recognise commands with a whole report: it names all failures, and
// everything that was to run of a target that it calls passed.

// isGoTestJSON recognises `go test` with -json.
func isGoTestJSON(words []string) bool {
	return len(words) >= 3 && words[0] == "go" && words[1] == "test" && slices.Contains(words, "-json") && !slices.Contains(words, "-args")
}

// isBazelBEP recognises `bazel test` and `bazel build` with --build_event_json_file.
func isBazelBEP(words []string) bool {
	return len(words) > 1 && (path.Base(words[0]) == "bazel" || path.Base(words[0]) == "bazelisk") &&
		(slices.Contains(words, "test") || slices.Contains(words, "build")) && hasFlag(words, "--build_event_json_file")
}

// isCargoJSON recognises `cargo test` with messages of JSON, and nextest with its own, if
// it goes on after a failure: otherwise it leaves out tests and does not name them.
func isCargoJSON(words []string) bool {
	words, nextest := cargoCommand(words)
	switch {
	case len(words) == 0:
		return false
	case nextest:
		return slices.Contains(words, "--no-fail-fast") && valueOf(words, "--message-format", "libtest-json")
	}
	return (words[0] == "test" || words[0] == "t") && valueOf(words, "--message-format", "json")
}

// cargoCommand returns the words after `cargo`, or after `cargo nextest run`.
func cargoCommand(words []string) (rest []string, nextest bool) {
	if len(words) == 0 || words[0] != "cargo" {
		return nil, false
	}
	if words = words[1:]; len(words) > 0 && strings.HasPrefix(words[0], "+") {
		words = words[1:]
	}
	if len(words) > 1 && words[0] == "nextest" && (words[1] == "run" || words[1] == "r") {
		return words[1:], true
	}
	return words, false
}

// isJestJSON recognises Jest and Vitest with a report in JSON that go on after a failure.
func isJestJSON(words []string) bool {
	words = nodeCommand(words)
	if len(words) == 0 || hasFlag(words, "--bail") || slices.Contains(words, "-b") {
		return false
	}
	switch words[0] {
	case "jest":
		return slices.Contains(words, "--json") && hasFlag(words, "--outputFile")
	case "vitest":
		return valueOf(words, "--reporter", "json") && (hasFlag(words, "--outputFile") || hasFlag(words, "--outputFile.json"))
	}
	return false
}

// isJUnit recognises runners that write all suites. Jest's reporter is none of them: it
// leaves out a file that does not compile.
func isJUnit(words []string) bool {
	if rest, nextest := cargoCommand(words); nextest {
		return slices.Contains(rest, "--no-fail-fast")
	}
	if len(words) > 2 && strings.HasPrefix(words[0], "python") && words[1] == "-m" {
		words = words[2:]
	}
	words = nodeCommand(words)
	switch {
	case len(words) == 0:
		return false
	case words[0] == "gotestsum":
		return hasFlag(words, "--junitfile")
	case words[0] == "pytest":
		return (hasFlag(words, "--junitxml") || hasFlag(words, "--junit-xml")) && !slices.Contains(words, "-x") && !slices.Contains(words, "--exitfirst") && !hasFlag(words, "--maxfail")
	case words[0] == "vitest":
		return valueOf(words, "--reporter", "junit") && !hasFlag(words, "--bail")
	}
	return false
}

// isTAP recognises Node's own runner.
func isTAP(words []string) bool {
	return len(words) > 1 && words[0] == "node" && slices.Contains(words, "--test") && valueOf(words, "--test-reporter", "tap")
}

// nodeCommand returns a command without the tool that runs it: npx, npm exec --, pnpm exec,
// yarn.
func nodeCommand(words []string) []string {
	switch {
	case len(words) > 1 && (words[0] == "npx" || words[0] == "yarn" && words[1] != "workspace" || words[0] == "bunx") && !strings.HasPrefix(words[1], "-"):
		return words[1:]
	case len(words) > 2 && words[0] == "pnpm" || len(words) > 2 && words[0] == "npm":
		for i, w := range words[1:] {
			switch rest := words[i+2:]; {
			case w == "exec" && len(rest) > 0 && words[0] == "pnpm":
				return rest
			case w == "--" && slices.Contains(words[:i+1], "exec"):
				return rest
			}
		}
	case len(words) > 3 && words[0] == "yarn" && words[1] == "workspace":
		return words[3:]
	case len(words) > 0 && strings.HasPrefix(words[0], "node_modules/.bin/"):
		return append([]string{path.Base(words[0])}, words[1:]...)
	}
	return words
}

// hasFlag reports whether a flag is given, with or without a value.
func hasFlag(words []string, flag string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w == flag || strings.HasPrefix(w, flag+"=") })
}

// valueOf reports whether a flag has a value that begins so.
func valueOf(words []string, flag, value string) bool {
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, flag+"="); ok && strings.HasPrefix(rest, value) ||
			w == flag && i+1 < len(words) && strings.HasPrefix(words[i+1], value) {
			return true
		}
	}
	return false
}
