package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/test/race"
)

var terseFlag = flag.Bool("terse", false, "don't look for the shortest story of a failure")

// TestMain runs worlds on one processor: goroutines take turns in about the same order every time, and nothing waits
// for another processor.
func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

// kept are seeds of worlds that revealed defects which few others show. A changed repertoire changes their steps: `make
// mutants` then reports the mutants that no world detects.
var kept = []uint64{52, 67, 69, 112, 20271122148, 20281122798, 20291122058, 60291122138, 110291122058, 463,
	70291142001217, 80291152001230,
	90291152000012, 90291162000934, 100000000092286, 791, 87, 387, 704, 257, 1795616375716483742, 1795724116932261780,
	1795724117035635794, 1795731529842097261, 1795731530044870997, 1795730616798548461,
	1795741571942081834, 1795741571839167607,
	1795742877448010405, 1795742877550476268, 1795743711520688651, 1795744685879666753,
	1795745032199621397, 1795745193967462014,
	1795745379171939157, 1795746700943487597, 1795754580447210900,
	7117, 8222}

// keptShare is the number of kept worlds for each that an ordinary run lives through. `make simulate` sets it to 1.
var keptShare = 6

// TestKeptSeeds lives through the worlds that failed once.
func TestKeptSeeds(t *testing.T) {
	var seeds []uint64
	for i := 0; i < len(kept)/race.Few; i += keptShare {
		seeds = append(seeds, kept[i])
	}
	liveAll(t, "kept seeds", seeds)
}

// fixedWorlds is the number of worlds that every run lives through.
const fixedWorlds = max(8/race.Few, 1)

// TestWorlds lives through the same worlds every time, so that a failure means a change and no throw of dice.
func TestWorlds(t *testing.T) {
	seeds := make([]uint64, fixedWorlds)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	liveAll(t, fmt.Sprintf("seeds 1 to %d", fixedWorlds), seeds)
}

// TestWorldsOfSeveralServers lives through some of the worlds in which two or three servers have the store.
func TestWorldsOfSeveralServers(t *testing.T) {
	liveAll(t, "several servers", []uint64{77, 97, 177}[:3/min(race.Few, 3)])
}

func liveAll(t *testing.T, what string, seeds []uint64) {
	t.Helper()
	var total Counts
	for _, seed := range seeds {
		if total = total.Plus(judged(t, Options{Seed: seed}).Counts); t.Failed() {
			return
		}
	}
	t.Logf("%s: %d worlds, %d steps: %+v", what, len(seeds), total.Steps(), total)
}

// judged runs a world and reports its failures, with the shortest run that still fails.
func judged(t *testing.T, opts Options) Result {
	t.Helper()
	opts.Folder = folder(t)
	watchdog := time.AfterFunc(hangs, func() {
		panic(fmt.Sprintf("the world of seed %d goes round in circles, or waits for what no one does", opts.Seed))
	})
	result := live(t, opts)
	watchdog.Stop()
	if len(result.Failures) == 0 {
		return result
	}
	if *terseFlag {
		t.Errorf("seed %d: %s", opts.Seed, strings.Join(result.Failures, "\n"))
		return result
	}
	shortest := minimise(t, opts, result)
	t.Errorf("seed %d: %s\n\n%s\n\nagain: make simulate SEED=%d", opts.Seed, strings.Join(result.Failures, "\n"),
		strings.Join(shortest.Story, "\n"), opts.Seed)
	return result
}

// hangs is longer than any world takes, in real time.
const hangs = 10 * time.Minute

// folder is where roots lie: in memory where that is possible, since each start of a server syncs files.
func folder(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("/dev/shm", "simulation")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	return path
}

func live(t *testing.T, opts Options) (result Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		opts.Settle = synctest.Wait
		result = Run(opts)
	})
	return result
}

// minimiseTime bounds the search for a shorter story, in the machine's own time.
const minimiseTime = 2 * time.Minute

// minimise leaves out steps as long as the world still fails.
func minimise(t *testing.T, opts Options, failing Result) Result {
	t.Helper()
	if opts.Steps == 0 {
		opts.Steps = DefaultSteps
	}
	opts.Log, opts.Drop = nil, map[int]bool{}
	for i := failing.Happened; i < opts.Steps; i++ {
		opts.Drop[i] = true
	}
	began := time.Now()
	for size := opts.Steps / 2; size > 0; size /= 2 {
		for from := 0; from < opts.Steps && time.Since(began) < minimiseTime; from += size {
			dropped := undropped(opts, from, size)
			if len(dropped) == 0 {
				continue
			}
			for _, i := range dropped {
				opts.Drop[i] = true
			}
			if shorter := live(t, opts); sort(shorter) == sort(failing) {
				failing = shorter
				continue
			}
			for _, i := range dropped {
				delete(opts.Drop, i)
			}
		}
	}
	failing.Story = append([]string{fmt.Sprintf("the story, with %d of %d steps:", failing.Happened, opts.Steps)},
		failing.Story...)
	return failing
}

// sort returns the first failure of a result without names and numbers: while minimizing, a run counts as the same
// failure if its sort is equal.
func sort(result Result) string {
	if len(result.Failures) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(result.Failures[0], "\n")
	words := slices.DeleteFunc(strings.Fields(first),
		func(word string) bool { return strings.ContainsAny(word, "0123456789/.") })
	return strings.Join(words[:min(len(words), 8)], " ")
}

func undropped(opts Options, from, size int) (out []int) {
	for i := from; i < min(from+size, opts.Steps); i++ {
		if !opts.Drop[i] {
			out = append(out, i)
		}
	}
	return out
}
