package liveness

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// Each step is minutes after the first loss: a node that is lost, that answers, or nothing new.
func TestDamp(t *testing.T) {
	type step struct {
		minute      float64
		lost, alive bool
		want        string
	}
	lost := func(minute float64, want string) step { return step{minute, true, false, want} }
	back := func(minute float64, want string) step { return step{minute, false, true, want} }
	for name, test := range map[string]struct {
		reason string
		steps  []step
	}{
		"twice": {
			reason: "two losses are no flapping",
			steps:  []step{lost(0, "1 lost"), lost(1, "1 lost"), back(2, "1"), lost(3, "2 lost"), back(4, "2")},
		},
		"three times": {
			reason: "the third loss is damped from the return on, and silence before the timeout isn't a loss",
			steps: []step{
				lost(0, "1 lost"), back(1, "1"), lost(2, "2 lost"), back(3, "2"), lost(4, "3 lost damped"),
				back(5, "3 damped 30s"), {5.25, false, false, "3 damped 15s"}, back(5.5, "3"),
			},
		},
		"a fourth within the pause": {
			reason: "it doubles",
			steps: []step{
				lost(0, "1 lost"), back(1, "1"), lost(2, "2 lost"), back(3, "2"), lost(4, "3 lost damped"), back(5, "3 damped 30s"),
				lost(5.25, "4 lost damped"), back(6, "4 damped 1m0s"), back(7, "4"),
			},
		},
		"an hour later": {
			reason: "old losses are forgotten",
			steps: []step{lost(0, "1 lost"), back(1, "1"), lost(2, "2 lost"), back(3, "2"), lost(61, "2 lost"),
				back(62, "1"), back(121, "0")},
		},
		"the clock was set back": {
			reason: "a pause never lasts longer than the longest",
			steps: []step{
				lost(0, "1 lost"), back(1, "1"), lost(2, "2 lost"), back(3, "2"), lost(40, "3 lost damped"),
				back(41, "3 damped 30s"), back(4, "2"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var record api.NodeLosses
			for i, step := range test.steps {
				now := epoch.Add(time.Duration(step.minute * float64(time.Minute)))
				record, _ = Damp(record, step.lost, step.alive, now)
				got := fmt.Sprint(len(record.At))
				if record.Lost {
					got += " lost"
				}
				if Damped(record) {
					got += " damped"
				}
				if !record.Until.IsZero() {
					got += " " + record.Until.Sub(now).String()
				}
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("step %d: %s (-want +got):\n%s", i, test.reason, diff)
				}
			}
		})
	}
}

func TestPause(t *testing.T) {
	var got []time.Duration
	for n := range 10 {
		got = append(got, Pause(n))
	}
	const s, m = time.Second, time.Minute
	if want := []time.Duration{0, 0, 0, 30 * s, m, 2 * m, 4 * m, 8 * m, 15 * m, 15 * m}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Nothing changes before the time that was said, and something does then.
func TestDampSaysWhenItChanges(t *testing.T) {
	record := api.NodeLosses{At: []time.Time{epoch, epoch.Add(time.Minute)}, Until: epoch.Add(5 * time.Minute)}
	now := epoch.Add(2 * time.Minute)
	for range 3 {
		next, after := Damp(record, false, true, now)
		if early, _ := Damp(next, false, true, now.Add(after-1)); after <= 0 || !SameLosses(early, next) {
			t.Fatalf("%+v changes before %s: %+v", next, after, early)
		}
		now = now.Add(after)
		if record, _ = Damp(next, false, true, now); SameLosses(record, next) {
			t.Fatalf("%+v does not change after %s", next, after)
		}
	}
	if len(record.At) > 0 || !record.Until.IsZero() {
		t.Errorf("%+v is left", record)
	}
}
