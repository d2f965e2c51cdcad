//go:build simulate

package simulation

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// Options select the world to run.
type Options struct {
	// Seed decides everything.
	Seed uint64
	// Steps is the number of steps before the faults end. Default DefaultSteps.
	Steps int
	// Drop holds the numbers of steps to skip, to minimize a failing run. It doesn't change the other steps.
	Drop map[int]bool
	// Log receives the operator's log. Default: none.
	Log io.Writer
}

// DefaultSteps is the number of steps of a world.
const DefaultSteps = 50

// Result describes the end of a world.
type Result struct {
	// Failures are the rules that were broken; none in a good world.
	Failures []string
	// Story lists what happened, one event a line, with its virtual time.
	Story []string
	// Happened is the number of steps that were taken, Writes that of stored changes of objects.
	Happened, Writes int
}

// World is a cluster with an operator, a control plane, and the people around them.
type World struct {
	testing.TB
	opts    Options
	ctx     context.Context
	began   time.Time
	parts   sync.WaitGroup
	cluster *cluster.Cluster
	plane   *plane
	flux    *flux
	jobs    *jobs

	workflows *workflows
	storage   *storage

	weather *weather
	oracle  *oracle
	life    *life
	lives   int
	// stamps counts the specs that people declared: each has its own number among its values.
	stamps int64
	names  int
	// dependsOn holds what each spec depends on, by its stamp. approved are operations by namespace and
	// name.
	dependsOn map[int64][]string
	approved  map[string]bool

	mu       sync.Mutex
	failures []string
	story    []string
	// dice serves the parts that run beside the steps.
	dice *rand.Rand
}

// Run runs one world. It must be called within a bubble of testing/synctest.
func Run(t testing.TB, opts Options) Result {
	if opts.Steps == 0 {
		opts.Steps = DefaultSteps
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &World{TB: t, opts: opts, ctx: ctx, began: time.Now(), dice: rand.New(rand.NewPCG(opts.Seed, 1<<32))}
	w.dependsOn, w.approved = map[int64][]string{}, map[string]bool{}
	w.found()
	w.start()
	happened := w.live()
	if !w.failed() {
		w.converge()
	}
	w.kill()
	w.plane.stop()
	cancel()
	w.parts.Wait()
	_ = w.plane.Store.Close()
	return Result{Failures: w.failures, Story: w.story, Happened: happened, Writes: w.oracle.writes}
}

// live takes the steps.
func (w *World) live() (happened int) {
	for i := range w.opts.Steps {
		random := rand.New(rand.NewPCG(w.opts.Seed, uint64(i)))
		action := draw(random)
		pause := time.Duration(random.ExpFloat64() * float64(8*time.Second))
		if random.IntN(12) == 0 {
			pause = time.Duration(random.IntN(20)) * time.Minute
		}
		if !w.opts.Drop[i] {
			w.storyf("#%d %s", i, action.name)
			action.do(w, random)
			happened++
		}
		time.Sleep(min(pause, 20*time.Minute))
		w.check()
		if w.failed() {
			return happened
		}
	}
	return happened
}

// sometimes reports true once in n times, and between returns a time, for the parts beside the steps.
func (w *World) sometimes(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n) == 0
}

func (w *World) between(least, most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return least + time.Duration(w.dice.Int64N(int64(most-least)))
}

func (w *World) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

// fail notes that a rule is broken.
func (w *World) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.storyf("FAILED: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failures) < 10 {
		w.failures = append(w.failures, text)
	}
}

// maxStory bounds the story of a world.
const maxStory = 4000

func (w *World) storyf(format string, args ...any) {
	line := fmt.Sprintf("%10.3fs  ", time.Since(w.began).Seconds()) + fmt.Sprintf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.story) < maxStory {
		w.story = append(w.story, line)
	}
}
