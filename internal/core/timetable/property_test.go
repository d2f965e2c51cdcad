package timetable

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// TestSafety puts jobs through random histories and checks the invariants of doc.go after every step.
func TestSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		states := map[string]api.RunState{}
		check := func() {
			w.safe(t, states)
		}
		w.decide()
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"pass": func(t *rapid.T) {
				for range rapid.IntRange(1, 90).Draw(t, "seconds") {
					w.pass(time.Second, true)
					check()
				}
			},
			"down": func(t *rapid.T) {
				w.pass(time.Duration(rapid.IntRange(1, 600).Draw(t, "seconds"))*time.Second, false)
				w.decide()
			},
			"crash": func(t *rapid.T) { w.pass(time.Minute, false); w.crash(rapid.IntRange(0, 4).Draw(t, "actions")) },
			"look":  func(*rapid.T) { w.decide() },
			"clock": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(-900, 900).Draw(t, "seconds")) * time.Second)
				w.decide()
			},
			"ask": func(t *rapid.T) {
				if w.desired.Concurrency == api.ConcurrencyForbid &&
					slices.ContainsFunc(w.sortedRuns(), func(r api.Run) bool { return !r.State.Ended() }) {
					return // refused by the API
				}
				w.create(api.Run{ID: "m-" + time.Duration(len(w.begun)).String(), CreatedAt: w.now, State: api.RunPending})
				w.decide()
			},
			"stop": func(t *rapid.T) {
				for _, run := range w.sortedRuns() {
					if !run.State.Ended() && rapid.Bool().Draw(t, "stopped") {
						w.stop(run.ID)
					}
				}
				w.decide()
			},
			"containers": func(t *rapid.T) { w.drawContainers(t) },
			"suspend":    func(t *rapid.T) { w.desired.Suspend = !w.desired.Suspend; w.decide() },
			"room":       func(t *rapid.T) { w.full = !w.full; w.work(); w.decide() },
			"node":       func(t *rapid.T) { w.lost = !w.lost; w.work(); w.decide() },
			"image": func(t *rapid.T) {
				w.desired.Release = rapid.SampledFrom([]string{"", "v1", "v2"}).Draw(t, "release")
				w.decide()
			},
		})
		w.converges(t)
	})
}

func drawWorld(t *rapid.T) *world {
	w := newWorld()
	d := &w.desired
	d.Concurrency = rapid.SampledFrom([]string{api.ConcurrencyAllow, api.ConcurrencyForbid,
		api.ConcurrencyReplace}).Draw(t, "concurrency")
	if text := rapid.SampledFrom([]string{"", "* * * * *", "*/2 * * * *", "1-40/7 * * * *"}).Draw(t,
		"schedule"); text != "" {
		d.Schedule, _ = Parse(text, "Europe/Berlin")
		d.ScheduleHash = text
	}
	w.each = d.Schedule == nil && rapid.Bool().Draw(t, "each")
	d.Retries = rapid.IntRange(0, 3).Draw(t, "retries")
	d.Timeout = time.Duration(rapid.SampledFrom([]int{0, 5, 100}).Draw(t, "timeout")) * time.Second
	d.KeepSucceeded, d.KeepFailed = rapid.IntRange(0, 3).Draw(t, "succeeded"), rapid.IntRange(0, 2).Draw(t, "failed")
	w.drawContainers(t)
	return w
}

// wants returns what is declared, as the controller says it.
func (w *world) wants() Desired {
	d := w.desired
	d.Unrun = w.each && d.Release != "" && !w.minted[d.Release]
	return d
}

func (w *world) drawContainers(t *rapid.T) {
	w.lasts = time.Duration(rapid.SampledFrom([]int{0, 3, 70, 200}).Draw(t, "lasts")) * time.Second
	w.stopping = time.Duration(rapid.SampledFrom([]int{0, 4, 80}).Draw(t, "stopping")) * time.Second
	w.code = rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "code")
}

// safe checks what must hold at every moment; states remembers the earlier states of runs.
func (w *world) safe(t *rapid.T, states map[string]api.RunState) {
	if w.fault != "" {
		t.Fatal(w.fault)
	}
	total := 0
	for _, run := range w.sortedRuns() {
		live := w.live(run.ID)
		total += live
		if live > 1 {
			t.Fatalf("run %s has %d live attempts", run.ID, live)
		}
		corrected := states[run.ID] == api.RunFailed && run.State == api.RunSucceeded && run.Message != ""
		if was := states[run.ID]; was.Ended() && was != run.State && !corrected ||
			was == api.RunRunning && run.State == api.RunPending {
			t.Fatalf("run %s went from %s to %s", run.ID, was, run.State)
		}
		states[run.ID] = run.State
	}
	if w.desired.Concurrency != api.ConcurrencyAllow && total > 1 {
		t.Fatalf("%d containers at once under %s", total, w.desired.Concurrency)
	}
}

// converges lets everything settle: all runs end, limits hold, and nothing is left to do.
func (w *world) converges(t *rapid.T) {
	w.full = false
	w.desired.Schedule, w.desired.Release, w.lost, w.lasts, w.stopping, w.code = nil, "v9", false, time.Second, 0, 0
	for _, task := range w.tasks { // containers end by the node's clock
		if s := task.Status; s != nil {
			if s.StartedAt.After(w.now) {
				s.StartedAt = w.now
			}
			if s.ReadyAt.After(w.now) {
				s.ReadyAt = time.Time{} // its stop is requested now
			}
		}
	}
	w.work()
	w.decide()
	w.pass(10*time.Minute, true)
	if w.fault != "" {
		t.Fatal(w.fault)
	}
	counts := map[api.RunState]int{}
	for _, run := range w.sortedRuns() {
		if !run.State.Ended() {
			t.Fatalf("run %s never ends: %s", run.ID, run.State)
		}
		counts[run.State]++
	}
	if counts[api.RunSucceeded] > w.desired.KeepSucceeded ||
		max(counts[api.RunFailed], counts[api.RunReplaced]) > w.desired.KeepFailed {
		t.Fatalf("%v are kept, beyond %d and %d", counts, w.desired.KeepSucceeded, w.desired.KeepFailed)
	}
	if plan := w.plan(); len(plan.Actions) > 0 {
		t.Fatalf("at rest there is something to do: %v", plan.Actions)
	}
	w.desired.Deleting = true
	w.decide()
	w.pass(time.Minute, true)
	if len(w.tasks) > 0 {
		t.Fatalf("after the deletion %d tasks are left", len(w.tasks))
	}
}

// TestOrderChangesNothing: the same records in another order give the same plan.
func TestOrderChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.decide()
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			w.create(api.Run{ID: "m-" + time.Duration(len(w.begun)).String(), CreatedAt: w.now, State: api.RunPending})
			w.decide()
			w.pass(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds"))*time.Second, true)
		}
		w.pass(time.Minute, false)
		o := w.observed()
		want := Decide(w.wants(), o, w.now)
		slices.Reverse(o.Runs)
		slices.Reverse(o.Tasks)
		got := Decide(w.wants(), o, w.now)
		if a, b := lines(want), lines(got); !slices.Equal(a, b) || want.After != got.After {
			t.Fatalf("%v, in another order %v", a, b)
		}
	})
}

func lines(p Plan) (out []string) {
	for _, a := range p.Actions {
		out = append(out, a.String())
	}
	slices.Sort(out)
	return out
}
