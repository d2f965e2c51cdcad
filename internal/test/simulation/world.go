package simulation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/memory"
)

// Options select the world to run.
type Options struct {
	// Seed decides everything.
	Seed uint64
	// Steps is the number of events before the faults end. Default DefaultSteps.
	Steps int
	// Drop holds the numbers of steps to skip, to minimize a failing run. It doesn't change the other steps.
	Drop map[int]bool
	// Settle returns once every goroutine of the world waits for time to pass or for another: synctest.Wait.
	Settle func()
	// Folder is the parent of the root. Default: the system's folder for temporary files.
	Folder string
	// Log receives the server's log. Default: none.
	Log io.Writer
}

// DefaultSteps is the number of events in a world.
const DefaultSteps = 120

// Result describes the end of a world.
type Result struct {
	// Failures are the oracle's rules that were broken; none in a good world.
	Failures []string
	// Story lists the events of the run, one a line, with their virtual time.
	Story []string
	// Happened is the number of steps that were taken.
	Happened int
	Counts
}

// Counts counts the events of a world by sort. Their sum is its steps.
type Counts struct {
	Verbs, Hands, Faults, Commits, Calls, Events, Requests int64
}

// Steps returns the sum of all counts.
func (c Counts) Steps() int64 {
	return c.Verbs + c.Hands + c.Faults + c.Commits + c.Calls + c.Events + c.Requests
}

// Plus adds two.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		c.Verbs + o.Verbs, c.Hands + o.Hands, c.Faults + o.Faults, c.Commits + o.Commits,
		c.Calls + o.Calls, c.Events + o.Events,
		c.Requests + o.Requests,
	}
}

type counters struct {
	verbs, hands, faults, commits, calls, events, requests atomic.Int64
}

func (c *counters) read() Counts {
	return Counts{
		Verbs: c.verbs.Load(), Hands: c.hands.Load(), Faults: c.faults.Load(), Commits: c.commits.Load(),
		Calls:  c.calls.Load(),
		Events: c.events.Load(), Requests: c.requests.Load(),
	}
}

// World is one simulated machine with a server, and the people around it.
type World struct {
	opts    Options
	root    string
	began   time.Time
	store   *memory.Store
	engine  *hollow.Engine
	server  *server
	agents  []*machine // none while the agent runs within the server
	liar    *liar      // nil in most worlds
	drained string     // the node that is drained in the end
	client  *client.Client
	lives   int
	weather weather
	rate    rate
	strain  strain
	curses  curses
	skew    atomic.Int64           // of the wall clock
	cluster atomic.Pointer[string] // the cluster's uid as the server last gave it to the engine
	images  images
	archive *archive
	watched *watched
	people  people
	count   counters
	keyring keyring
	copied  *backup
	// paused is set from a restore of an older store until the server is resumed.
	paused atomic.Bool
	// clockSet is when the clock was last set, in nanoseconds since the world began; 0 is never.
	clockSet atomic.Int64
	// crashIn counts the points until the server dies; 0 and below is never.
	crashIn atomic.Int64
	// unmounted is set while the server runs over an empty store.
	unmounted atomic.Bool
	// away is set while the engine is unreachable.
	away atomic.Bool
	// listener is where the server that lives is reached.
	listener atomic.Pointer[pipe]

	// committing keeps the archive in the order of the store.
	committing sync.Mutex

	// beside are the other servers over the store, in worlds with several; reach is the first server's connection to the
	// store, and off is set until that server is started again.
	beside atomic.Pointer[[]*standby]
	reach  reach
	off    atomic.Bool
	// outsiders is the cable of machines that may not join.
	outsiders *cable
	// pausing is the number of the server that is being started with --paused.
	pausing int
	terms   terms
	labs    *labs

	mu       sync.Mutex
	failures []string
	story    []string
}

// Run runs one world. It must be called within a bubble of testing/synctest.
func Run(opts Options) Result {
	if opts.Steps == 0 {
		opts.Steps = DefaultSteps
	}
	w, err := found(opts)
	if err != nil {
		return Result{Failures: []string{err.Error()}}
	}
	defer w.end()
	happened := w.live()
	if !w.failed() {
		w.converge()
	}
	w.liar.leave()
	for _, m := range w.agents {
		m.stop(false)
	}
	for _, b := range w.standbys() {
		b.stop(false)
	}
	w.stop()
	if !w.failed() {
		w.people.judge(w)
	}
	return Result{Failures: w.failures, Story: w.story, Happened: happened, Counts: w.count.read()}
}

// found makes a world and starts its server.
func found(opts Options) (*World, error) {
	root, err := os.MkdirTemp(opts.Folder, "world")
	if err != nil {
		return nil, fmt.Errorf("make the root of the world: %w", err)
	}
	w := &World{opts: opts, root: root, began: time.Now(), store: memory.New(), outsiders: newCable(), pausing: nobody}
	w.weather.random = rand.New(rand.NewPCG(opts.Seed, 1<<32))
	w.strain.random = rand.New(rand.NewPCG(opts.Seed, 2<<32))
	w.archive, w.watched, w.labs = newArchive(w), newWatched(w), newLabs(w)
	w.engine = hollow.NewEngine(hollow.Options{
		Behaviour: w.behave, StartDelay: hollow.Delay(20 * time.Millisecond), StopDelay: hollow.Delay(30 * time.Millisecond),
		Apart: w.several(), Before: w.starts,
	})
	w.engine.Observe(w.watched.happened)
	w.stock()
	w.stockPinned()
	if w.labWorld() {
		w.stockLabs()
	}
	w.client = w.newClient()
	w.settleMachines()
	w.start()
	for _, m := range w.agents {
		m.start()
	}
	return w, nil
}

// end removes everything that the world made.
func (w *World) end() {
	w.weather.clear()
	w.people.wait.Wait()
	w.weather.late.Wait()
	w.client.Close()
	w.engine.Close()
	_ = w.store.Close()
	if w.copied != nil {
		_ = w.copied.store.Close()
	}
	_ = os.RemoveAll(w.root)
	for _, m := range w.agents {
		_ = os.RemoveAll(m.root())
	}
	for n := 1; n < w.servers(); n++ {
		_ = os.RemoveAll(w.besideRoot(n))
	}
}

// live takes the steps.
func (w *World) live() (happened int) {
	for i := range w.opts.Steps {
		random := rand.New(rand.NewPCG(w.opts.Seed, uint64(i)))
		action := draw(random)
		pause := w.pause(random)
		if !w.opts.Drop[i] {
			w.storyf("#%d %s", i, action.name)
			action.do(w, random)
			happened++
		}
		w.mishap(i)
		w.labMishap(i)
		w.portVerb(i)
		w.pass(pause)
		w.requests(3)
		w.knock()
		if w.failed() {
			return happened
		}
	}
	return happened
}

// crashes decides at every failpoint of the server whether it dies there.
func (w *World) crashes(name string) bool {
	if w.crashIn.Load() <= 0 || w.crashIn.Add(-1) != 0 {
		return false
	}
	w.storyf("the server dies at %s", name)
	return true
}

func (w *World) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

// fail notes that a sentence doesn't hold.
func (w *World) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.storyf("FAILED: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failures) < 10 {
		w.failures = append(w.failures, text)
	}
}

// maxStory bounds the story of a world that keeps failing.
const maxStory = 5000

func (w *World) storyf(format string, args ...any) {
	line := fmt.Sprintf("%10.3fs  ", time.Since(w.began).Seconds()) + fmt.Sprintf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.story) < maxStory {
		w.story = append(w.story, line)
	}
}

var _ runtime.Runtime = (*shaky)(nil)
