package redisstore

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// oldestMajor and oldestMinor are the oldest version that has all the commands that we use.
const oldestMajor, oldestMinor = 6, 2

var versionLine = regexp.MustCompile(`(?m)^redis_version:((\d+)\.(\d+)[\w.]*)`)

// check reports a Redis that does not answer or is too old. A Redis that does
// not tell its version passes: some hosts forbid INFO.
func (s *Store) check(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	info, err := s.client.Info(ctx, "server").Result()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	m := versionLine.FindStringSubmatch(info)
	if m == nil {
		return nil
	}
	s.version = m[1]
	major, _ := strconv.Atoi(m[2]) // digits, by the expression
	minor, _ := strconv.Atoi(m[3])
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fmt.Errorf("redisstore: Redis is version %s; %d.%d or later is needed", m[1], oldestMajor, oldestMinor)
	}
	return nil
}

// Durability returns a warning about the Redis for the start: how it may lose
// acknowledged data, or that this is not known. It returns "" if a crash loses
// no acknowledged data.
func (s *Store) Durability(ctx context.Context) string {
	config := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync", "maxmemory", "maxmemory-policy"} {
		got, err := s.client.ConfigGet(ctx, name).Result()
		if err != nil {
			return "it is not known whether a crash of Redis loses data: it does not tell its configuration; " +
				"appendonly yes and appendfsync always lose nothing"
		}
		config[name] = got[name]
	}
	return durabilityOf(config)
}

func durabilityOf(config map[string]string) string {
	var warnings []string
	switch {
	case config["appendonly"] != "yes":
		warnings = append(warnings, "a crash of Redis may lose everything since its last snapshot: appendonly is off")
	case config["appendfsync"] == "everysec":
		warnings = append(warnings, "a crash of Redis may lose up to two seconds: appendfsync is everysec, not always")
	case config["appendfsync"] != "always":
		warnings = append(warnings, fmt.Sprintf("a crash of Redis may lose up to half a minute or more: appendfsync is %s, not always",
			strconv.Quote(config["appendfsync"])))
	}
	if p := config["maxmemory-policy"]; config["maxmemory"] != "0" && p != "" && p != "noeviction" {
		warnings = append(warnings, fmt.Sprintf("Redis may throw data away when its memory is full: maxmemory-policy is %s, not noeviction", p))
	}
	return strings.Join(warnings, "; ")
}
