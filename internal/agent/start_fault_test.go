package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
)

// TestAFailingStartShows: the reason is stored at every attempt, and goes when one succeeds.
func TestAFailingStartShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		var fault error
		l.engine.Before(func(verb, _ string) error {
			if verb == "start" {
				return fault
			}
			return nil
		})
		l.start()
		defer l.close()
		fault = errors.New("no space left on device")
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.want(task, api.TaskStarting, false, "EngineError")
		fault = errors.New("too many open files") // the second failure begins at a container that exists
		l.pass(time.Minute)
		l.want(task, api.TaskStarting, false, "EngineError")
		if got := l.status(task).Message; got != fault.Error() {
			t.Errorf("the message is %q, want %q", got, fault)
		}
		fault = nil
		l.pass(20 * time.Minute)
		l.want(task, api.TaskRunning, true, "")
	})
}
