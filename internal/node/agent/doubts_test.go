package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
)

// TestAContainerMadeWithoutAnAnswerIsFound: the answer to the creation is lost, no event reports it, and its task is
// removed. The container is not left behind.
func TestAContainerMadeWithoutAnAnswerIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		l.deaf.Store(true)
		l.mute.Store(true)
		task := l.deploy(taskID(1), nil)
		synctest.Wait()
		if l.container(task).ID == "" {
			t.Fatal("none was made")
		}
		l.raise(task, api.DesiredRemoved)
		l.pass(time.Second)
		if c := l.container(task); c.ID != "" || l.status(task).State != "" {
			t.Errorf("it is %s, and its task %q", c.State, l.status(task).State)
		}
	})
}
