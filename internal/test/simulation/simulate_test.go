//go:build simulate

package simulation

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// `make simulate` sets these.
var (
	seedFlag  = flag.Uint64("seed", 0, "run the world of this seed alone, and print its story if it fails")
	stepsFlag = flag.Int("steps", 0, "steps of a world; 0 is the default")
	timeFlag  = flag.Duration("time", 0, "live through fresh worlds for so long")
	worlds    = flag.Int("worlds", 0, "live through so many worlds")
	fromFlag  = flag.Uint64("from", 0, "the seed of the first of them; 0 takes one from the clock")
	logFlag   = flag.String("log", "", "file for the log of the server, with -seed")
	onlyFlag  = flag.String("only", "", "with -seed, the numbers of the only steps to take, with commas between")
	storyFlag = flag.Bool("story", false, "print the story with -seed although nothing fails")
)

func init() { keptShare = 1 }

// TestSeed lives through the world of -seed.
func TestSeed(t *testing.T) {
	opts := Options{Seed: *seedFlag, Steps: *stepsFlag, Drop: allBut(t, *onlyFlag)}
	if *logFlag != "" {
		file, err := os.Create(*logFlag)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		opts.Log = file
	}
	result := judged(t, opts)
	t.Logf("seed %d: %d steps: %+v", *seedFlag, result.Steps(), result.Counts)
	if *storyFlag {
		t.Log("\n" + strings.Join(result.Story, "\n"))
	}
}

// TestFresh lives through one world after another, for -time or as many as -worlds says.
func TestFresh(t *testing.T) {
	if *timeFlag == 0 && *worlds == 0 {
		t.Fatal("give -time or -worlds")
	}
	began, first, lived := time.Now(), *fromFlag, 0
	if first == 0 {
		first = uint64(began.UnixNano())
	}
	var total Counts
	for ; !t.Failed() && (*worlds == 0 || lived < *worlds) && (*timeFlag == 0 || time.Since(began) < *timeFlag); lived++ {
		total = total.Plus(judged(t, Options{Seed: first + uint64(lived), Steps: *stepsFlag}).Counts)
	}
	t.Logf("%d worlds from seed %d in %s, %d steps: %+v", lived, first, time.Since(began).Round(time.Second),
		total.Steps(), total)
}

// allBut returns the steps that are not in a list, to be left out.
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
