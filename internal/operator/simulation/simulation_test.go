//go:build simulate

package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/test/race"
)

// TestMain runs worlds on one processor: goroutines take turns in about the same order every time.
func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)
	if err := Enclose(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// kept are seeds of worlds that revealed defects. A changed repertoire changes their steps: `make mutants` then reports
// the mutants that no world detects.
var kept = []uint64{7, 9}

// TestKeptSeeds lives through the worlds that failed once.
func TestKeptSeeds(t *testing.T) { liveAll(t, kept) }

// TestWorlds lives through the same worlds every time.
func TestWorlds(t *testing.T) { liveAll(t, []uint64{6, 10, 11}[:3/min(race.Few, 3)]) }

func liveAll(t *testing.T, seeds []uint64) {
	t.Helper()
	writes := 0
	for _, seed := range seeds {
		if writes += judged(t, Options{Seed: seed}).Writes; t.Failed() {
			return
		}
	}
	t.Logf("%d worlds, %d writes", len(seeds), writes)
}

// hangs is longer than any world takes, in real time.
const hangs = 10 * time.Minute

// judged runs a world and reports its failures, with the shortest run that still fails.
func judged(t *testing.T, opts Options) Result {
	t.Helper()
	watchdog := time.AfterFunc(hangs, func() {
		panic(fmt.Sprintf("the world of seed %d goes round in circles, or waits for what no one does", opts.Seed))
	})
	defer watchdog.Stop()
	result := live(t, opts)
	if len(result.Failures) > 0 {
		shortest := minimise(t, opts, result)
		t.Errorf("seed %d: %s\n\nthe story, with %d steps:\n%s\n\nagain: make simulate-cluster SEED=%d", opts.Seed,
			strings.Join(result.Failures, "\n"), shortest.Happened, strings.Join(shortest.Story, "\n"), opts.Seed)
	}
	return result
}

func live(t *testing.T, opts Options) (result Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { result = Run(t, opts) })
	return result
}

// minimiseTime bounds the search for a shorter story, in the machine's own time.
const minimiseTime = 30 * time.Second

// minimise leaves out steps as long as the world still fails in the same way.
func minimise(t *testing.T, opts Options, failing Result) Result {
	t.Helper()
	opts.Log, opts.Steps, opts.Drop = nil, failing.Happened, map[int]bool{}
	began := time.Now()
	for size := opts.Steps / 2; size > 0; size /= 2 {
		for from := 0; from < opts.Steps && time.Since(began) < minimiseTime; from += size {
			shorter := opts
			shorter.Drop = map[int]bool{}
			for i := range opts.Steps {
				shorter.Drop[i] = opts.Drop[i] || i >= from && i < from+size
			}
			if result := live(t, shorter); sortOf(result) == sortOf(failing) {
				failing, opts = result, shorter
			}
		}
	}
	return failing
}

// sortOf returns the first failure of a result without names and numbers.
func sortOf(result Result) string {
	if len(result.Failures) == 0 {
		return ""
	}
	var words []string
	for word := range strings.FieldsSeq(result.Failures[0]) {
		if !strings.ContainsAny(word, "0123456789/.") && len(words) < 6 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
