//go:build simulate

package simulation

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// `make simulate` sets these.
var (
	seedFlag  = flag.Uint64("seed", 0, "live through the world of this seed alone, and tell its story where it fails")
	stepsFlag = flag.Int("steps", 0, "steps of a world; 0 is the default")
	keptFlag  = flag.Bool("kept", false, "live through the kept seeds")
	timeFlag  = flag.Duration("time", 0, "live through fresh worlds for so long")
	logFlag   = flag.String("log", "", "file for the log of the server, with -seed")
	onlyFlag  = flag.String("only", "", "with -seed, the numbers of the only steps to take, with commas between")
	storyFlag = flag.Bool("story", false, "tell the story with -seed although nothing fails")
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// kept are seeds of worlds that failed once, or that have much of everything. `make simulate SEED=kept` lives through them.
var kept = []uint64{3, 5, 10, 12, 13, 17, 18, 19}

// TestKeptSeeds lives through worlds that are known to be good.
func TestKeptSeeds(t *testing.T) {
	if !*keptFlag {
		return
	}
	var total Counts
	for _, seed := range kept {
		total = total.Plus(judged(t, seed).Counts)
	}
	t.Logf("%d worlds, %d steps: %+v", len(kept), total.Steps(), total)
}

// TestSeed lives through the world of -seed.
func TestSeed(t *testing.T) {
	if *seedFlag == 0 {
		return
	}
	result := judged(t, *seedFlag)
	t.Logf("seed %d: %d steps: %+v", *seedFlag, result.Steps(), result.Counts)
	if *storyFlag {
		t.Log("\n" + strings.Join(result.Story, "\n"))
	}
}

// TestFresh lives through fresh worlds for -time, from a seed that the clock gives.
func TestFresh(t *testing.T) {
	if *timeFlag == 0 {
		return
	}
	began, worlds := time.Now(), 0
	var total Counts
	for first := uint64(began.UnixNano()); time.Since(began) < *timeFlag && !t.Failed(); worlds++ {
		total = total.Plus(judged(t, first+uint64(worlds)).Counts)
	}
	t.Logf("%d worlds in %s, %d steps: %+v", worlds, time.Since(began).Round(time.Second), total.Steps(), total)
}

// judged lives through a world and reports what failed, with the shortest story that still fails.
func judged(t *testing.T, seed uint64) Result {
	t.Helper()
	opts := Options{Seed: seed, Steps: *stepsFlag, Folder: folder(t), Drop: allBut(t, *onlyFlag)}
	if *logFlag != "" && *seedFlag != 0 {
		file, err := os.Create(*logFlag)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		opts.Log = file
	}
	watchdog := time.AfterFunc(hangs, func() {
		panic(fmt.Sprintf("the world of seed %d goes round in circles, or waits for what no one does", seed))
	})
	result := live(t, opts)
	watchdog.Stop()
	if len(result.Failures) == 0 {
		return result
	}
	shortest := minimise(t, opts, result)
	t.Errorf("seed %d: %s\n\n%s\n\nagain: make simulate SEED=%d", seed, strings.Join(result.Failures, "\n"), strings.Join(shortest.Story, "\n"), seed)
	return result
}

// allBut are the steps to leave out, so that only those of a list are taken.
func allBut(t *testing.T, list string) map[int]bool {
	t.Helper()
	if list == "" {
		return nil
	}
	out := map[int]bool{}
	for i := range DefaultSteps {
		out[i] = true
	}
	for _, number := range strings.Split(list, ",") {
		i, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		delete(out, i)
	}
	return out
}

// hangs is more than any world takes, in the machine's own time.
const hangs = 5 * time.Minute

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
	failing.Story = append([]string{fmt.Sprintf("the story, with %d of %d steps:", failing.Happened, opts.Steps)}, failing.Story...)
	return failing
}

// sort is the first failure of a result without names and numbers: a story is the same one as long as it fails alike.
func sort(result Result) string {
	if len(result.Failures) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(result.Failures[0], "\n")
	words := slices.DeleteFunc(strings.Fields(first), func(word string) bool { return strings.ContainsAny(word, "0123456789/.") })
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
