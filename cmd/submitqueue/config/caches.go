package config

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/config"
)

// cacheHint proposes folders that a step may keep from build to build. The proposal is a
// comment: with a cache, a pass may rest on files that another change has left, and only the
// repository's owners can decide whether that is worth it.
func (t tree) cacheHint(b *bytes.Buffer, f analyzers.Found) {
	in := func(name string) string { return path.Join(f.Under, name) }
	lines := func(env, why string, paths ...string) {
		for i, p := range paths {
			paths[i] = print.FlowYAML(p)
		}
		fmt.Fprintf(b, "    # Faster, once runners have it: %s. A pass then rests on what other changes have left there.\n", why)
		if env != "" {
			fmt.Fprintf(b, "    # env: {%s}\n", env)
		}
		fmt.Fprintf(b, "    # caches: [{paths: [%s]}]\n", strings.Join(paths, ", "))
	}
	switch {
	case f.Analyzer == config.AnalyzerCargo:
		lines("", "what Cargo has built", in("target"))
	case f.Analyzer == config.AnalyzerNode && f.Under == "" && t.Has("package-lock.json"):
		lines("npm_config_cache: .npm", "the downloads of npm, which npm ci compares with the lock file", ".npm")
	case strings.HasPrefix(f.Run, "./gradlew"), strings.HasPrefix(f.Run, "gradle "):
		lines("GRADLE_USER_HOME: .gradle-home", "what Gradle has downloaded and built", ".gradle", ".gradle-home/caches")
	case strings.HasPrefix(f.Run, "./mvnw"), strings.HasPrefix(f.Run, "mvn "):
		lines("MAVEN_ARGS: -Dmaven.repo.local=.m2", "what Maven has downloaded", ".m2")
	}
}
