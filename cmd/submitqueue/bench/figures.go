package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// landFigures are the figures of `bench land`. Wall runs from the first command to the
// last change landed, latency from a change's command to its landing being stored. CPU
// is user and system time from the first command to the last publication: of the server
// with its git processes, and of Redis.
type landFigures struct {
	Changes   int     `json:"changes"`
	Areas     int     `json:"areas"`
	Forge     string  `json:"forge"`
	Single    bool    `json:"single,omitempty"`
	Landed    int     `json:"landed"`
	Wall      float64 `json:"wall_seconds"`
	Latency   spread  `json:"latency_seconds"`
	Turns     int64   `json:"turns"`
	Builds    int64   `json:"builds"`
	Pushes    int64   `json:"pushes"`
	CPU       landCPU `json:"cpu_seconds"`
	PerLanded float64 `json:"cpu_per_landed"` // of the server
	RSS       float64 `json:"rss_mb"`         // the server's peak
	Packs     int     `json:"packs"`          // of the mirror, at most

	Span  int  `json:"span,omitempty"` // how many landings at the beginning, and at the end
	First pace `json:"first,omitzero"`
	Last  pace `json:"last,omitzero"`

	Readers *readers `json:"readers,omitempty"` // of --readers

	RedisBytes int64            `json:"redis_bytes"` // bytes that were sent to Redis
	Actions    map[string]int64 `json:"actions"`     // of the server, by kind
	Redis      string           `json:"redis"`
	Machine    machine          `json:"machine"`
	Rounds     []landFigures    `json:"rounds,omitempty"` // in their order; the other figures are those of the median round
}

type landCPU struct {
	Server float64 `json:"server"`
	Redis  float64 `json:"redis"`
}

// medianOf returns the round with the median wall time, with all rounds.
func medianOf(rounds []landFigures) landFigures {
	if len(rounds) == 1 {
		return rounds[0]
	}
	byWall := slices.SortedFunc(slices.Values(rounds), func(a, b landFigures) int {
		if a.Wall < b.Wall {
			return -1
		}
		return 1
	})
	m := byWall[(len(byWall)-1)/2]
	m.Rounds = rounds
	return m
}

func (f landFigures) print(to io.Writer) {
	what := "independent or nearly so"
	switch {
	case f.Single:
		what = "one by one on an idle queue"
	case f.Areas == 1:
		what = "all in conflict"
	}
	var actions []string
	for _, kind := range slices.Sorted(maps.Keys(f.Actions)) {
		actions = append(actions, fmt.Sprintf("%s %d", kind, f.Actions[kind]))
	}
	fmt.Fprintf(to, "%d changes in %d areas (%s), forge %s, %s\n%s\n", f.Changes, f.Areas, what, f.Forge, f.Redis, f.Machine)
	paces := "-"
	if f.Span > 0 {
		paces = fmt.Sprintf("first %d at %.0f a minute, last %d at %.0f: %.0f %%; CPU of each %.4f s and %.4f s", f.Span, f.First.PerMinute, f.Span, f.Last.PerMinute,
			100*f.Last.PerMinute/f.First.PerMinute, f.First.CPU, f.Last.CPU)
	}
	seen := "-"
	if f.Readers != nil {
		seen = f.Readers.words()
	}
	for _, row := range [][2]string{
		{"landed", fmt.Sprint(f.Landed)},
		{"wall", fmt.Sprintf("%.2f s", f.Wall)},
		{"pace", paces},
		{"packs of the mirror", fmt.Sprintf("%d at most", f.Packs)},
		{"command to landed", fmt.Sprintf("P50 %.3f s, P95 %.3f s, max %.3f s", f.Latency.P50, f.Latency.P95, f.Latency.Max)},
		{"builds, pushes, turns", fmt.Sprintf("%d, %d, %d", f.Builds, f.Pushes, f.Turns)},
		{"CPU of server and git", fmt.Sprintf("%.2f s, %.4f s per landed change", f.CPU.Server, f.PerLanded)},
		{"CPU of Redis", fmt.Sprintf("%.2f s", f.CPU.Redis)},
		{"sent to Redis", fmt.Sprintf("%.1f KB per landed change", float64(f.RedisBytes)/1024/float64(max(f.Landed, 1)))},
		{"memory of the server", fmt.Sprintf("%.0f MB at most", f.RSS)},
		{"readers", seen},
		{"actions", strings.Join(actions, ", ")},
	} {
		fmt.Fprintf(to, "  %-24s%s\n", row[0], row[1])
	}
}
