package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// ErrUnknownSetting is wrapped by the error of CheckSettings for a name that no
// given strategy has.
var ErrUnknownSetting = errors.New("unknown key")

// tunable is a strategy that has settings.
type tunable interface {
	Strategy
	// settings are the names of all settings that Run reads.
	settings() []string
}

var (
	_ tunable = bors{}
	_ tunable = speculateAll{}
	_ tunable = submitQueue2019{}
	_ tunable = submitQueue2024{}
	_ tunable = ours{}
)

// CheckSettings returns an error if a setting would end a run of one of the strategies,
// or if none of them reads it. Each name must be a setting of at least one strategy,
// and each value must make sense to all strategies that have the setting.
func CheckSettings(strategies []Strategy, set map[string]string) error {
	known := settingsOf(strategies)
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(known, key) {
			return unknownSetting(key, known)
		}
	}
	for _, s := range strategies {
		// In an empty world only settings can be wrong.
		_, err := s.Run(context.Background(), &World{}, Options{Workers: 1, Set: SettingsFor(s, set)})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
	}
	return nil
}

// SettingsFor returns those settings that a strategy has, or nil if it has none of
// them.
func SettingsFor(s Strategy, set map[string]string) map[string]string {
	var out map[string]string
	for _, key := range settingsOf([]Strategy{s}) {
		if value, ok := set[key]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// settingsOf returns the names of the strategies' settings, sorted, each once.
func settingsOf(strategies []Strategy) []string {
	var out []string
	for _, s := range strategies {
		if t, ok := s.(tunable); ok {
			out = append(out, t.settings()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unknownSetting says which names are known, or which strategies have the name.
func unknownSetting(key string, known []string) error {
	var owners []string
	for _, s := range Strategies() {
		if slices.Contains(settingsOf([]Strategy{s}), key) {
			owners = append(owners, s.Name())
		}
	}
	if len(owners) > 0 {
		return fmt.Errorf("%w %q: it is a setting of %s, and none of these is to run", ErrUnknownSetting, key, strings.Join(owners, ", "))
	}
	if len(known) == 0 {
		return fmt.Errorf("%w %q: no strategy that is to run has settings; others have: %s", ErrUnknownSetting, key,
			strings.Join(settingsOf(Strategies()), ", "))
	}
	return fmt.Errorf("%w %q; there are: %s", ErrUnknownSetting, key, strings.Join(known, ", "))
}

func (bors) settings() []string            { return []string{"batch"} }
func (speculateAll) settings() []string    { return speculateSettings() }
func (submitQueue2019) settings() []string { return speculateSettings() }
func (submitQueue2024) settings() []string { return speculateSettings() }

func speculateSettings() []string {
	return []string{"bypass", "epoch", "first", "informed", "learn", "threshold"}
}

// settings are the keys of the configuration's queue section.
func (ours) settings() []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Rules]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}
