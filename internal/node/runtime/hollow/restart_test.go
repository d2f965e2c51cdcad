package hollow

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/node/runtime"
)

// TestAfterward lists what each policy does after each kind of end.
func TestAfterward(t *testing.T) {
	exit := func(code int) func(*Engine) error {
		return func(e *Engine) error { return e.Exit("a", code) }
	}
	oom := func(e *Engine) error { return e.OOM("a") }
	stop := func(e *Engine) error { return e.StopByHand("a") }
	kill := func(e *Engine) error { return e.Kill("a", "SIGKILL") }
	reboot := func(e *Engine) error { e.RestartEngine(); return nil }
	stopReboot := func(e *Engine) error { defer e.RestartEngine(); return e.StopByHand("a") }
	tests := map[string]struct {
		reason string
		policy string
		end    func(*Engine) error
		runs   bool
		events string
	}{
		"no, exit":             {"no means no", "no", exit(1), false, "die"},
		"always, exit 0":       {"always restarts a success", "always", exit(0), true, "die start"},
		"on-failure, exit 0":   {"a success doesn't count as a failure", "on-failure", exit(0), false, "die"},
		"on-failure, exit 1":   {"a failure is restarted", "on-failure", exit(1), true, "die start"},
		"unless-stopped, exit": {"it was not stopped", "unless-stopped", exit(0), true, "die start"},
		"unless-stopped, oom":  {"the kernel's kill is an exit", "unless-stopped", oom, true, "oom die start"},
		"unless-stopped, stop": {"stopped by hand", "unless-stopped", stop, false, "kill die stop"},
		"always, stop":         {"stopped by hand", "always", stop, false, "kill die stop"},
		"always, kill":         {"killed by hand counts as stopped", "always", kill, false, "kill die"},
		"always, engine":       {"the engine's own stop isn't a user's", "always", reboot, true, "kill die stop start"},
		"no, engine":           {"no means no", "no", reboot, false, "kill die stop"},
		"unless, engine": {"the engine's own stop isn't a user's", "unless-stopped", reboot, true,
			"kill die stop start"},
		"unless, stopped, engine": {"a manual stop outlives the engine", "unless-stopped", stopReboot,
			false, "kill die stop"},
		"always, stopped, engine":   {"always forgets the stop at boot", "always", stopReboot, true, "kill die stop start"},
		"on-failure, clean, engine": {"it ended with 0 on the signal", "on-failure", reboot, false, "kill die stop"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine, rt := machine(t, Options{})
				c := run(t, rt, spec("a", tc.policy))
				before := len(engine.History())
				if err := tc.end(engine); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // the bubble's, not the wall's
				if got := inspect(t, rt, c.ID).State == runtime.StateRunning; got != tc.runs {
					t.Errorf("%s: runs %v", tc.reason, got)
				}
				if diff := cmp.Diff(tc.events, eventWords(engine, before)); diff != "" {
					t.Errorf("%s: events (-want +got)\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestBackoff: waits double from 100 ms; a run of 10 s resets them; the count of restarts stays.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, rt := machine(t, Options{})
		c := run(t, rt, spec("a", "always"))
		fail := func(want time.Duration) {
			t.Helper()
			if err := engine.Exit("a", 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(want - time.Millisecond)
			if state := inspect(t, rt, c.ID).State; state != runtime.StateRestarting {
				t.Errorf("state %s before %s passed", state, want)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if state := inspect(t, rt, c.ID).State; state != runtime.StateRunning {
				t.Errorf("state %s after %s", state, want)
			}
		}
		fail(100 * time.Millisecond)
		fail(200 * time.Millisecond)
		fail(400 * time.Millisecond)
		time.Sleep(10 * time.Second)
		fail(100 * time.Millisecond)
		if n := inspect(t, rt, c.ID).RestartCount; n != 4 {
			t.Errorf("restarted %d times, want 4", n)
		}
		if err := engine.StopByHand("a"); err != nil {
			t.Fatal(err)
		}
		if err := rt.Start(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if n := inspect(t, rt, c.ID).RestartCount; n != 0 {
			t.Errorf("a start by hand keeps the count at %d", n)
		}
	})
}

// TestStopDuringBackoff: a container that is stopped while it waits for its restart stays down.
func TestStopDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, rt := machine(t, Options{})
		c := run(t, rt, spec("a", "always"))
		if err := engine.Exit("a", 1); err != nil {
			t.Fatal(err)
		}
		if err := rt.Stop(t.Context(), c.ID, time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if state := inspect(t, rt, c.ID).State; state != runtime.StateExited {
			t.Errorf("state %s, want exited", state)
		}
	})
}

// TestStopGrace: a container that ignores the signal is killed when the grace period is over, and not before.
func TestStopGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, rt := machine(t,
			Options{Behaviour: func(runtime.ContainerSpec) Behaviour { return Behaviour{IgnoresStop: true} }})
		c := run(t, rt, spec("a", "always"))
		before, began := len(engine.History()), time.Now()
		if err := rt.Stop(t.Context(), c.ID, 7*time.Second); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("stopped after %s", took)
		}
		if diff := cmp.Diff("kill kill die stop", eventWords(engine, before)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAbandonedStop: the stop continues if the caller gives up.
func TestAbandonedStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rt := machine(t, Options{StopDelay: Delay(3 * time.Second)})
		c := run(t, rt, spec("a", "always"))
		ctx, cancel := contextWithTimeout(t, time.Second)
		defer cancel()
		if err := rt.Stop(ctx, c.ID, 10*time.Second); err == nil {
			t.Fatal("the stop was not cut")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if state := inspect(t, rt, c.ID).State; state != runtime.StateExited {
			t.Errorf("state %s, want exited", state)
		}
	})
}
