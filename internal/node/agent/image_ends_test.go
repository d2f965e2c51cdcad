package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

// TestAPullThatEndsWhileARequestLooks: an answer of the engine that is older than the end of a pull causes no second
// one.
func TestAPullThatEndsWhileARequestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(3 * time.Second)})
		l.engine.PublishImage("far:1")
		l.start()
		defer l.close()
		l.looking.Store(int64(5 * time.Second))
		l.request("far:1", "")
		l.pass(time.Minute)
		if got := l.answer(); got.State != api.ImagePresent {
			t.Errorf("answer %+v", got)
		}
		if n := l.engine.Calls()["pull"]; n != 1 {
			t.Errorf("%d pulls", n)
		}
	})
}

// TestABuildThatEndsWhileARequestLooks is the same for a build.
func TestABuildThatEndsWhileARequestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := newBuildHarness(t)
		defer l.close()
		l.looking.Store(int64(7 * time.Second)) // a build's second step begins 5 s before its end
		l.ask("a", "")
		l.pass(time.Minute)
		if got := l.answer(); got.State != api.ImagePresent {
			t.Errorf("answer %+v", got)
		}
		if begun := w.seen(&w.begun); len(begun) != 1 {
			t.Errorf("begun: %v", begun)
		}
	})
}

// TestAPullIsReportedWhenItTakesLong: one that has ended within 250 ms is one report, and a longer one two.
func TestAPullIsReportedWhenItTakesLong(t *testing.T) {
	for takes, want := range map[time.Duration]int{200 * time.Millisecond: 1, 400 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(takes)})
			l.engine.PublishImage("far:1")
			l.start()
			defer l.close()
			l.store.reports()
			l.request("far:1", "")
			l.pass(time.Minute)
			if got := l.answer(); got.State != api.ImagePresent {
				t.Errorf("answer %+v", got)
			}
			reports := 0
			for _, txn := range l.store.reports() {
				for _, op := range txn.Do {
					if op.Key == records.ImageStatusKey(nodeID, web) {
						reports++
					}
				}
			}
			if reports != want {
				t.Errorf("a pull of %s is %d reports, want %d", takes, reports, want)
			}
		})
	}
}
