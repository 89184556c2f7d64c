package demo

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// MinChanges is the least number of pull requests that shows every kind.
const MinChanges = 12

// Size says how much Generate makes.
type Size struct {
	Seed    uint64        // the same seed gives the same plan, byte for byte
	Changes int           // pull requests, at least MinChanges
	Slow    time.Duration // how long the slow test takes; 0: 10 s
}

// Generate makes a plan: a Go monorepo and pull requests of every kind, in proportion.
// The slow change comes first, the others follow in random order.
func Generate(size Size) (*Plan, error) {
	if size.Changes < MinChanges {
		return nil, fmt.Errorf("at least %d changes are needed to show every kind", MinChanges)
	}
	check := GoCheck()
	check.Workers = 2 // its tests do not disturb each other
	if size.Slow == 0 {
		size.Slow = 10 * time.Second
	}
	base, err := shopFiles()
	if err != nil {
		return nil, err
	}
	g := &generator{rng: rand.New(rand.NewPCG(size.Seed, 1)), slow: size.Slow, plan: &Plan{
		Title: "a web shop in Go", Name: "shop", Branch: "main", Base: base, Check: check,
	}}
	g.nouns = shuffled(g.rng, nouns())
	if err := g.run(size.Changes); err != nil {
		return nil, err
	}
	list := g.plan.Changes[1:]
	g.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return g.plan, nil
}

type generator struct {
	rng   *rand.Rand
	nouns []string
	used  int // instances made
	slow  time.Duration
	plan  *Plan
}

// run makes the slow change and n-1 others, in whole groups as far as they fit.
func (g *generator) run(n int) error {
	special, err := scenarios("*")
	if err != nil {
		return err
	}
	byName := map[string]scenario{}
	for _, s := range special {
		byName[s.name] = s
	}
	good, err := scenarios("good/*")
	if err != nil {
		return err
	}
	if len(good) == 0 {
		return errors.New("demo: no scenarios")
	}
	good = shuffled(g.rng, good)

	g.add(byName["slow"], 1)
	for block := range max(1, n/24) {
		for _, name := range []string{"docs", "rename", "behaviour", "merge"} {
			g.add(byName[name], 2)
		}
		g.add(byName["compile-name"], 1)
		g.add(byName["fail-downstream"], 1)
		if n-len(g.plan.Changes) >= 2 {
			g.add(byName["overlap"], min(3, n-len(g.plan.Changes)))
		}
		if n/24 > block { // a full block has two of each
			g.add(byName["compile-type"], 1)
			g.add(byName["fail-own"], 1)
		}
	}
	for i := 0; len(g.plan.Changes) < n; i++ {
		g.add(good[i%len(good)], 1)
	}
	return nil
}

// add makes an instance of a scenario with at most the given number of changes.
func (g *generator) add(s scenario, most int) {
	noun := g.nouns[g.used%len(g.nouns)]
	if round := g.used / len(g.nouns); round > 0 {
		noun += strconv.Itoa(round + 1)
	}
	g.used++
	r := strings.NewReplacer(
		"{{noun}}", noun, "{{Noun}}", strings.ToUpper(noun[:1])+noun[1:],
		"{{n}}", strconv.Itoa(11+g.rng.IntN(19)), "{{m}}", strconv.Itoa(2+g.rng.IntN(8)),
		"{{slow}}", strconv.FormatInt(g.slow.Milliseconds(), 10),
	)
	maps.Copy(g.plan.Base, s.base.fill(r))
	for i, c := range s.changes[:min(most, len(s.changes))] {
		c.Title, c.Body, c.Files = r.Replace(c.Title), r.Replace(c.Body), c.Files.fill(r)
		c.Author = authors()[g.rng.IntN(len(authors()))]
		c.Branch = c.Author + "/" + s.name + "-" + noun
		if len(s.changes) > 1 {
			c.Branch += "-" + parts()[i]
		}
		if c.Expect == ExpectOneBuilds || c.Expect == ExpectOneMerges {
			c.Pair = s.name + "-" + noun
		}
		g.plan.Changes = append(g.plan.Changes, c)
	}
}

func shuffled[T any](rng *rand.Rand, list []T) []T {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func authors() []string {
	return []string{"ada", "barbara", "chen", "dmitri", "elif", "fatima", "george", "hana"}
}

func nouns() []string {
	return []string{
		"books", "wine", "teapots", "toys", "shoes", "paper", "coffee", "lamps", "bikes", "seeds", "rugs", "soap",
		"games", "plants", "chairs", "clocks", "knives", "tents", "honey", "bread", "cheese", "kites", "candles", "scarves",
		"spices", "puzzles", "mirrors", "baskets",
	}
}
