package daemon

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/test/fault"
	"tend.dev/tend/internal/test/race"
)

// everyHit also crashes at every single hit, and at random pairs of them, with the resync practically off. It takes
// some minutes.
var everyHit = flag.Bool("every-hit", false, "crash at every hit of every failpoint")

// crash is where a server dies: at the n-th hit of a point.
type crash struct {
	point string
	hit   int
}

func (c crash) points() *fault.Points { return fault.New(fault.Options{Crash: c.point, At: c.hit}) }

func (c crash) String() string { return fmt.Sprintf("%s:%d", c.point, c.hit) }

// TestEveryFailpoint runs a whole scenario once without faults, and once more for every failpoint it passed, with a
// server that dies there. Whatever that server did last, reported or not, the next server brings the scenario to the
// same end. So does the one after it, if the next one dies in the same place.
func TestEveryFailpoint(t *testing.T) {
	everyFailpoint(t, story{live: (*drill).live, points: 30})
}

// story is a scenario, with the least number of points that it passes. nodes has the server listen for nodes. With
// only, servers die at points whose names begin so; other stories pass the others.
type story struct {
	live   func(*drill)
	points int
	nodes  bool
	only   string
}

func everyFailpoint(t *testing.T, s story) {
	passed, want := rehearse(t, s)
	maps.DeleteFunc(passed, func(name string, _ int) bool { return !strings.HasPrefix(name, s.only) })
	if len(passed) < s.points {
		t.Errorf("the scenario passes %d points, want at least %d: %v", len(passed), s.points, passed)
	}
	work := make(chan []crash)
	var workers sync.WaitGroup
	for range max(8, 32/race.Few) { // they mostly wait: a case takes 2 to 9 s, of which it computes 0.2 s
		workers.Go(func() {
			for deaths := range work {
				t.Run(fmt.Sprint(deaths), func(t *testing.T) { dieAt(t, s, deaths, want) })
			}
		})
	}
	for i, name := range slices.Sorted(maps.Keys(passed)) {
		t.Logf("%-36s %d", name, passed[name])
		for _, died := range deaths(i, name, passed[name]) {
			work <- died
		}
	}
	if *everyHit {
		for range 300 {
			work <- []crash{anyOf(passed), anyOf(passed)}
		}
	}
	close(work)
	workers.Wait()
}

func anyOf(passed map[string]int) crash {
	names := slices.Sorted(maps.Keys(passed))
	name := names[rand.IntN(len(names))]
	return crash{name, 1 + rand.IntN(passed[name])}
}

// rehearse runs the scenario without a fault. It returns the points that are hit, with their counts, and the end state.
func rehearse(t *testing.T, s story) (passed map[string]int, end []string) {
	t.Helper()
	passed = map[string]int{}
	d := newDrill(t, s.nodes, fault.New(fault.Options{Trace: func(name string) { passed[name]++ }}))
	s.live(d)
	d.settled(nil)
	end = d.calm()
	d.stop() // nothing is passed any more
	return passed, end
}

// calm returns the end state once it has been the same for a second. Otherwise late effects, such as the last report
// about an image whose object was deleted, would be taken for a part of it, and no other run would ever end so.
func (d *drill) calm() []string {
	d.t.Helper()
	end, since, deadline := d.end(), time.Now(), time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for time.Since(since) < time.Second {
		if <-tick.C; time.Now().After(deadline) {
			d.t.Fatal("the scenario comes to no end without a fault")
		}
		if now := d.end(); !slices.Equal(now, end) {
			end, since = now, time.Now()
		}
	}
	return end
}

// deaths returns the ways in which servers die at the i-th point: at its first hit, at one in the middle, at one near
// the end (the number of hits differs between runs), and one server after the other at the first.
func deaths(i int, name string, hits int) [][]crash {
	first := []crash{{name, 1}}
	if race.Few > 1 {
		return [][]crash{first}
	}
	later := []int{(hits + 1) / 2, hits * 4 / 5}
	for hit := 2; *everyHit && hit <= hits; hit++ {
		later = append(later, hit)
	}
	slices.Sort(later)
	others := [][]crash{{{name, 1}, {name, 1}}}
	for _, hit := range slices.Compact(later) {
		if hit > 1 {
			others = append(others, []crash{{name, hit}})
		}
	}
	if !everyDeath && !*everyHit {
		others = others[i%len(others):][:1]
	}
	return append([][]crash{first}, others...)
}

// placedLater are the points of the scheduler, which not every run passes: a step places the tasks that it creates,
// unless another one has just placed by the same state.
const placedLater = "store.schedule."

func dieAt(t *testing.T, s story, deaths []crash, want []string) {
	var lives []*fault.Points
	for _, at := range deaths {
		lives = append(lives, at.points())
	}
	d := newDrill(t, s.nodes, lives...)
	began := time.Now()
	s.live(d)
	d.settled(want)
	t.Logf("%d deaths, %s", d.deaths, time.Since(began).Round(time.Millisecond))
	sure := deaths[0].hit == 1 && !strings.HasPrefix(deaths[0].point, placedLater)
	if sure && d.deaths == 0 {
		t.Error("the server did not die")
	}
}

// settled waits for the wanted end state, and checks the invariants on the way.
func (d *drill) settled(want []string) {
	d.t.Helper()
	var got []string
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for want != nil {
		d.revive()
		if got = d.end(); slices.Equal(got, want) {
			break
		}
		if <-tick.C; time.Now().After(deadline) {
			d.t.Fatalf("another end than without faults (-want +got):\n%s", cmp.Diff(want, got))
		}
	}
	for _, finding := range d.audit.findings() {
		d.t.Error(finding)
	}
	for slot, most := range d.m.engine.MaxAlive() {
		if most > 1 {
			d.t.Errorf("%d containers of slot %s ran at one time", most, slot)
		}
	}
}
