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
)

func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)
	if err := Enclose(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var seedFlag = flag.Uint64("seed", 0, "")
var storyFlag = flag.Bool("story", false, "")
var logFlag = flag.String("log", "", "")
var worldsFlag = flag.Int("worlds", 20, "")
var stepsFlag = flag.Int("steps", 0, "")

func TestSeed(t *testing.T) {
	opts := Options{Seed: *seedFlag, Steps: *stepsFlag}
	if *logFlag != "" {
		opts.Log, _ = os.Create(*logFlag)
	}
	r := judged(t, opts)
	if *storyFlag {
		fmt.Println(strings.Join(r.Story, "\n"))
	}
}

func TestFresh(t *testing.T) {
	for i := range *worldsFlag {
		judged(t, Options{Seed: *seedFlag + uint64(i), Steps: *stepsFlag})
	}
}

func judged(t *testing.T, opts Options) (r Result) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) { r = Run(t, opts) })
	fmt.Printf("seed %d: %s, %d steps, %d writes, %v\n", opts.Seed, time.Since(began).Round(time.Millisecond), r.Happened, r.Writes, r.Failures)
	if len(r.Failures) > 0 {
		t.Errorf("seed %d: %s", opts.Seed, strings.Join(r.Failures, "\n"))
	}
	return r
}
