package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Command measures this build of the queue. It is no test: it prints figures, and fails
// only where the queue did something wrong.
type Command struct {
	Calls   benchCalls   `cmd:"" help:"Calls to the code host's API for each landed change, and from a command to its builds, in a long queue."`
	Hooks   benchHooks   `cmd:"" help:"Webhooks until they are acknowledged, at a steady rate, and whether any is lost when the server is killed."`
	Land    benchLand    `cmd:"" help:"Land many changes as fast as they go: real Redis, real git, builds that pass at once."`
	Outage  benchOutage  `cmd:"" help:"Changes that wait while a simulated code host is in trouble: the losses, and how long after its end the first one lands."`
	Runners benchRunners `cmd:"" help:"Jobs to runners on other machines: how soon each is in a runner's hands, and whether any is lost or doubled."`
	Server  benchServer  `cmd:"" hidden:"" help:"The server that bench land measures."`
}

// machine describes the machine of the measurement.
type machine struct {
	CPUs       int    `json:"cpus"`
	Load       string `json:"load,omitempty"` // averages of 1, 5 and 15 minutes
	FileSystem string `json:"file_system,omitempty"`
	Folder     string `json:"folder"`
}

// machineOf looks at the machine and at the file system of a folder. Facts that the
// system does not tell are left out.
func machineOf(dir string) machine {
	m := machine{CPUs: runtime.NumCPU(), Folder: dir}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		if words := strings.Fields(string(raw)); len(words) > 3 {
			m.Load = strings.Join(words[:3], " ")
		}
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return m
	}
	longest := -1
	for line := range strings.Lines(string(mounts)) {
		words := strings.Fields(line)
		if len(words) < 3 || len(words[1]) < longest {
			continue
		}
		if rel, err := filepath.Rel(words[1], dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			longest, m.FileSystem = len(words[1]), words[2]
		}
	}
	return m
}

// String describes the machine in a line, for people.
func (m machine) String() string {
	return fmt.Sprintf("%d CPUs, load %s, %s on %s", m.CPUs, m.Load, m.Folder, m.FileSystem)
}

// seconds is a duration as a figure.
func seconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Second)
}

// spread is how a figure is distributed, in seconds.
type spread struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// spreadOf takes the nearest rank.
func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	all = slices.Sorted(slices.Values(all))
	at := func(percent int) float64 { return seconds(all[max(0, (len(all)*percent+99)/100-1)]) }
	return spread{P50: at(50), P95: at(95), P99: at(99), Max: seconds(all[len(all)-1])}
}
