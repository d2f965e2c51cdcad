//go:build integration

package histories

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	number = flag.Int("histories", 10, "how many histories TestHistories records")
	seed   = flag.Uint64("seed", 1, "what clients ask and which harm is done")
)

// atOnce is the number of histories recorded at the same time, each of its own keys.
const atOnce = 6

// TestHistories: whatever faults the servers have, the answers fit an order in which each call took effect at once,
// between its request and its answer; a call without an answer took effect once, later, or never. No answer is a 500.
func TestHistories(t *testing.T) {
	c := newTrio(t, nil)
	counted := &counts{}
	harm := c.harm(*seed, "")
	failed := c.record(*number, counted, nil)
	harm.end()
	for _, text := range failed {
		t.Error(text)
	}
	t.Logf("%d histories, seed %d: %v; harm: %v", *number, *seed, counted, harm)
	if counted.done.Load() == 0 || counted.reads.Load() == 0 {
		t.Errorf("nothing was done: %v", counted)
	}
}

// record records histories until one is faulty, and returns its faults. through may wrap the function that calls a
// server.
func (c *trio) record(number int, counted *counts, through func(caller) caller) []string {
	left := atomic.Int64{}
	left.Store(int64(number))
	return c.recordWhile(func() bool { return left.Add(-1) >= 0 }, counted, through)
}

// recordUntil records histories until ends is closed.
func (c *trio) recordUntil(ends chan struct{}, counted *counts) []string {
	return c.recordWhile(func() bool {
		select {
		case <-ends:
			return false
		default:
			return true
		}
	}, counted, nil)
}

func (c *trio) recordWhile(more func() bool, counted *counts, through func(caller) caller) []string {
	callers := map[string]caller{}
	for _, name := range c.names {
		callers[name] = c.servers[name].caller()
		if through != nil {
			callers[name] = through(callers[name])
		}
	}
	var failed []string
	var mu sync.Mutex
	var broken atomic.Bool
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for !broken.Load() && more() {
				n := c.recorded.Add(1) // no two histories of a trio have the same keys
				h := &history{number: int(n), random: rand.New(rand.NewPCG(*seed, uint64(n))), callers: callers,
					names: c.names, counts: counted}
				h.record()
				if wrong := h.judge(); len(wrong) > 0 {
					mu.Lock()
					failed = append(failed, wrong...)
					mu.Unlock()
					broken.Store(true)
				}
			}
		})
	}
	all.Wait()
	if wrong := indecision(counted.judged.Load(), counted.undecided.Load()); wrong != "" {
		failed = append(failed, wrong)
	}
	return failed
}

// counts count the events in histories.
type counts struct {
	done, reads, refused, unknown, absent, stale, unreachable atomic.Int64
	slowest, late                                             atomic.Int64
	judged, undecided                                         atomic.Int64 // histories
}

func (c *counts) add(a asked, r reply, out answered) {
	if took := int64(r.took); took > c.slowest.Load() {
		c.slowest.Store(took)
	}
	if r.took > maxWait {
		c.late.Add(1)
	}
	switch {
	case r.unsent:
		c.unreachable.Add(1)
	case r.stale != "":
		c.stale.Add(1)
	case out.answer == unknown:
		c.unknown.Add(1)
	case out.answer == absent:
		c.absent.Add(1)
	case out.answer != done:
		c.refused.Add(1)
	case a.verb == read:
		c.reads.Add(1)
	default:
		c.done.Add(1)
	}
}

func (c *counts) String() string {
	return fmt.Sprintf("%d histories, %d of them undecided; %d writes, %d reads, %d of them stale besides, %d not found, %d refused, "+
		"%d without an answer, %d not sent; %d took longer than %v, slowest %v", c.judged.Load(), c.undecided.Load(),
		c.done.Load(), c.reads.Load(), c.stale.Load(), c.absent.Load(), c.refused.Load(), c.unknown.Load(),
		c.unreachable.Load(),
		c.late.Load(), maxWait, time.Duration(c.slowest.Load()))
}
