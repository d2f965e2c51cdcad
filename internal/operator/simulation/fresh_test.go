//go:build simulate

package simulation

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

// `make simulate-cluster` sets these.
var (
	seedFlag  = flag.Uint64("seed", 0, "run the world of this seed alone, and print its story if it fails")
	timeFlag  = flag.Duration("time", 0, "live through fresh worlds for so long")
	fromFlag  = flag.Uint64("from", 0, "the seed of the first of them; 0 takes one from the clock")
	logFlag   = flag.String("log", "", "file for the log of the operator, with -seed")
	storyFlag = flag.Bool("story", false, "print the story with -seed although nothing fails")
)

// TestSeed lives through the world of -seed.
func TestSeed(t *testing.T) {
	opts := Options{Seed: *seedFlag}
	if *logFlag != "" {
		file, err := os.Create(*logFlag)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		opts.Log = file
	}
	if result := judged(t, opts); *storyFlag {
		t.Log("\n" + strings.Join(result.Story, "\n"))
	}
}

// TestFresh lives through one world after another, for -time.
func TestFresh(t *testing.T) {
	began, first, lived, writes := time.Now(), *fromFlag, 0, 0
	if first == 0 {
		first = uint64(began.UnixNano())
	}
	for ; !t.Failed() && time.Since(began) < *timeFlag; lived++ {
		writes += judged(t, Options{Seed: first + uint64(lived)}).Writes
	}
	t.Logf("%d worlds from seed %d in %s, %d writes", lived, first, time.Since(began).Round(time.Second), writes)
}
