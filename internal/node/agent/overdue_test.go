package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// TestAnEngineThatTakesLongShows: a task whose container is not created, or not started, for 30 s says so, and what to
// do. Nothing is left of it once the engine has finished.
func TestAnEngineThatTakesLongShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{CreateDelay: hollow.Delay(time.Minute), StartDelay: hollow.Delay(time.Minute)})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		for _, step := range []struct {
			state api.TaskState
			says  string
		}{{api.TaskPreparing, "create"}, {api.TaskStarting, "start"}} {
			l.pass(20 * time.Second)
			if got := l.status(task); got.Message != "" || got.Next != "" {
				t.Errorf("%s after 20 s: %q, %q", step.says, got.Message, got.Next)
			}
			l.pass(20 * time.Second)
			if got := l.status(task); got.State != step.state || !strings.Contains(got.Message, "has not finished since") ||
				!strings.Contains(got.Message, step.says) || got.Next == "" {
				t.Errorf("%s after 40 s: %s, %q, %q", step.says, got.State, got.Message, got.Next)
			}
			l.pass(20 * time.Second)
		}
		l.pass(time.Second)
		l.want(task, api.TaskRunning, true, "")
		if got := l.status(task); got.Message != "" || got.Next != "" {
			t.Errorf("once it runs: %q, %q", got.Message, got.Next)
		}
	})
}
