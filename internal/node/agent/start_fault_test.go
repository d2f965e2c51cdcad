package agent_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
)

// TestAFailingStartShows: the reason is stored at every attempt, and removed when one succeeds.
func TestAFailingStartShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		var fault atomic.Pointer[error]
		l.engine.Before(func(verb, _ string) error {
			if now := fault.Load(); verb == "start" && now != nil {
				return *now
			}
			return nil
		})
		fails := func(text string) {
			err := errors.New(text)
			fault.Store(&err)
		}
		l.start()
		defer l.close()
		fails("no space left on device")
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.want(task, api.TaskStarting, false, "EngineError")
		fails("too many open files") // the second failure begins at a container that exists
		l.pass(time.Minute)
		l.want(task, api.TaskStarting, false, "EngineError")
		if got := l.status(task).Message; got != "too many open files" {
			t.Errorf("the message is %q, want the second fault's", got)
		}
		fault.Store(nil)
		l.pass(20 * time.Minute)
		l.want(task, api.TaskRunning, true, "")
	})
}

// TestTheErrorOfAStartStaysWhileItIsTriedAgain, however long the engine takes over each try.
func TestTheErrorOfAStartStaysWhileItIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.Before(func(verb, _ string) error {
			if verb != "start" {
				return nil
			}
			time.Sleep(3 * time.Second)
			return errors.New("too many open files")
		})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.pass(4 * time.Second)
		for range 100 {
			if got := l.status(task); got.Reason != "EngineError" || got.Message != "too many open files" ||
				got.Next == "" {
				t.Fatalf("between two tries it is %s: %s", got.Reason, got.Message)
			}
			l.pass(time.Second)
		}
	})
}

// TestAContainerThatTheEngineCantStartAgain: after its engine has been restarted, another container is made in its
// place, and what ran once isn't made again.
func TestAContainerThatTheEngineCantStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		var cursed atomic.Pointer[string]
		l.engine.Before(func(verb, id string) error {
			if known := cursed.Load(); verb == "start" && known != nil && *known == id {
				return errors.New("task already exists")
			}
			return nil
		})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		before := l.container(task).ID
		cursed.Store(&before)
		l.must(l.engine.StopByHand(task.ContainerName()))
		l.pass(time.Minute)
		l.want(task, api.TaskRunning, true, "")
		if after := l.container(task).ID; after == before {
			t.Error("the container that can't be started is still there")
		}
		if calls := l.engine.Calls(); calls["create"] != 2 || calls["remove"] != 1 {
			t.Errorf("calls %v", calls)
		}
	})
}
