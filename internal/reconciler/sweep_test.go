package reconciler

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestResyncEnqueuesOnlyDirtyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		var asked []time.Time
		dirty := func(now time.Time) []Key {
			asked = append(asked, now)
			return []Key{web}
		}
		begun := time.Now()
		l := newHarness(t, Options{Dirty: dirty, Replay: listing(web, api), Metrics: NewMetrics(registry),
			FullResync: time.Hour}, nil)
		l.pass(30 * time.Second)
		l.wantCount(t, web, 4, "the replay and three passes")
		l.wantCount(t, api, 1, "its plan is empty: the replay alone")
		for i, at := range asked {
			if want := begun.Add(time.Duration(i+1) * 10 * time.Second); !at.Equal(want) {
				t.Errorf("pass %d at %v, want %v", i, at, want)
			}
		}
		wantMetric(t, registry, `tend_reconciliation_cycles_total{kind="deployment"} 3`)
		l.stop(t)
	})
}

func TestPassesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		dirty := func(time.Time) []Key {
			<-time.After(2 * time.Second) // so long a pass takes
			return []Key{web, api}
		}
		l := newHarness(t, Options{Dirty: dirty, Metrics: NewMetrics(registry)}, nil)
		l.pass(35 * time.Second)
		for _, line := range []string{
			`tend_scheduler_loop_iterations_total{kind="deployment"} 3`, `tend_average_loop_duration{kind="deployment"} 2`,
			`tend_scheduler_loop_duration_seconds_sum{kind="deployment"} 6`,
			`tend_resources_processed_total{kind="deployment"} 6`,
		} {
			wantMetric(t, registry, line)
		}
		l.stop(t)
	})
}

func TestSweepsDoNotShortenABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{
			Dirty: func(time.Time) []Key { return []Key{web} }, Resync: 100 * time.Millisecond,
			Replay: listing(web), FullResync: 200 * time.Millisecond,
			Backoff: []time.Duration{10 * time.Second, time.Minute},
		}
		l := newHarness(t, o, always(errFlaky))
		l.pass(30 * time.Second)
		times := l.times(web)
		if len(times) != 2 || times[1] < 9*time.Second {
			t.Errorf("reconciled %v, want the first try and one after 10 s", times)
		}
		l.stop(t)
	})
}

func TestResyncLeavesRestingKeysAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dirty: func(time.Time) []Key { return []Key{web} }, Backoff: []time.Duration{time.Second}}
		l := newHarness(t, o, always(errFlaky))
		l.Enqueue(web)
		l.pass(time.Hour)
		l.wantCount(t, web, 2, "the first try and the retry, then it rests")
		l.stop(t)
	})
}

func TestFullResyncIsSpreadEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := keys(60)
		l := newHarness(t, Options{Replay: listing(all...)}, nil)
		l.pass(10 * time.Minute)
		perMinute := map[int]int{}
		for _, key := range all {
			times := l.times(key)
			if len(times) != 2 {
				t.Fatalf("%s was reconciled %v, want the replay and one full resync", key.Name, times)
			}
			perMinute[int(times[1]/time.Minute)]++
		}
		for minute := range 10 {
			if got := perMinute[minute]; got < 5 || got > 7 {
				t.Errorf("%d of 60 keys in minute %d, want 6: %v", got, minute, perMinute)
			}
		}
		l.pass(10 * time.Minute)
		for _, key := range all {
			times := l.times(key)
			if gap := times[2] - times[1]; gap < 9*time.Minute || gap > 11*time.Minute {
				t.Errorf("%s: %v between two full resyncs, want about 10 min", key.Name, gap)
			}
		}
		l.stop(t)
	})
}

func TestFullResyncFollowsTheListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		all := []Key{web}
		l := newHarness(t, Options{FullResync: time.Minute, Replay: func() []Key {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(all)
		}}, nil)
		mu.Lock()
		all = []Key{api}
		mu.Unlock()
		l.pass(10 * time.Minute)
		l.wantCount(t, web, 2, "the replay and the round that had begun; then it was gone")
		if got := l.count(api); got != 9 {
			t.Errorf("the new key was reconciled %d times in nine rounds", got)
		}
		l.stop(t)
	})
}

func TestControllersDoNotResyncInLockstep(t *testing.T) {
	first, second := newSweep("deployment", time.Minute), newSweep("job", time.Minute)
	if first.round.phase == second.round.phase {
		t.Errorf("both controllers are at phase %v", first.round.phase)
	}
}

func TestFullResyncWakesRestingKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, Options{Replay: listing(web), FullResync: time.Hour}, always(errFlaky))
		l.pass(time.Hour + time.Hour)
		if got := l.count(web); got < 14 {
			t.Errorf("reconciled %d times in two hours, want seven tries each hour", got)
		}
		l.stop(t)
	})
}
