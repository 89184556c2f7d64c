package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Usage is the resources that a Redis has used since it started, for benches.
type Usage struct {
	CPU      time.Duration // user and system time, its children's too
	BytesIn  int64         // read from the network
	BytesOut int64
	Commands int64
	Memory   int64 // resident, in bytes, now
}

// Usage asks Redis for its usage. A figure that Redis does not tell is 0.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	text, err := s.client.Info(ctx, "all").Result()
	if err != nil {
		return Usage{}, fmt.Errorf("redisstore: %w", err)
	}
	figure := func(name string) float64 {
		_, rest, _ := strings.Cut(text, "\r\n"+name+":")
		value, _, _ := strings.Cut(rest, "\r\n")
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0
		}
		return f
	}
	seconds := figure("used_cpu_user") + figure("used_cpu_sys") +
		figure("used_cpu_user_children") + figure("used_cpu_sys_children")
	u := Usage{CPU: time.Duration(seconds * float64(time.Second)), BytesIn: int64(figure("total_net_input_bytes")),
		BytesOut: int64(figure("total_net_output_bytes")), Commands: int64(figure("total_commands_processed")),
		Memory: int64(figure("used_memory_rss"))}
	if u.Commands == 0 {
		return u, errors.New("redisstore: this Redis does not tell what it has used")
	}
	return u, nil
}

// URL returns the URL that the store was opened with, for another process that
// shares it. It may hold a password: it must not get into a log or a command
// line.
func (s *Store) URL() string { return s.url }
