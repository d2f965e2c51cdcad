package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// TestDrainingHoldsNoStopBack: pods that drain for long, however many, keep no other one from being stopped. The engine
// still gets a bounded number of stops at once.
func TestDrainingHoldsNoStopBack(t *testing.T) {
	const places = 32 // the default of agent.Options.Stops
	synctest.Test(t, func(t *testing.T) {
		l, g := newHarness(t, hollow.Options{StopDelay: hollow.Delay(time.Second)}), newGate()
		l.edge = g
		l.start()
		defer l.close()
		deploy := func(i int, drain api.Duration) api.Task {
			return l.deploy(taskID(i), func(_ *api.Task, s *api.DeploymentSpec) { s.Strategy = &api.Strategy{Drain: drain} })
		}
		var draining []api.Task
		for i := range places + 8 {
			draining = append(draining, deploy(i, "1h"))
		}
		other := deploy(1000, "0s")
		l.settle()
		for _, task := range draining {
			l.raise(task, api.DesiredShutdown)
		}
		l.raise(other, api.DesiredShutdown)
		l.pass(2 * time.Second)
		l.want(other, api.TaskShutdown, false, "Shutdown")
		if n := l.engine.Calls()["stop"]; n != 1 {
			t.Fatalf("%d stops while all but one drain", n)
		}
		close(g.finish)
		l.settle()
		if n := l.engine.Calls()["stop"]; n != 1+places {
			t.Errorf("%d stops at once", n-1)
		}
		l.pass(3 * time.Second)
		for _, task := range draining {
			l.want(task, api.TaskShutdown, false, "Shutdown")
		}
	})
}
