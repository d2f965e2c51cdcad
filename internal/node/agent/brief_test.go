package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestStreamsThatEndAtOnceAreSpaced: an engine, or a proxy before it, that ends each stream of events costs a list in
// some seconds, not all that the machine has. Meanwhile containers are followed by these lists; and a stream that has
// lasted is followed by the next one at once.
func TestStreamsThatEndAtOnceAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.brief.Store(true)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.pass(time.Minute)
		if n := l.streams.Load(); n < 10 || n > 30 {
			t.Errorf("%d streams in a minute", n)
		}
		l.want(task, api.TaskRunning, true, "")
		l.must(l.engine.RemoveByHand(task.ContainerName()))
		l.pass(10 * time.Second)
		l.wantContainer(task, runtime.StateRunning)
		l.brief.Store(false)
		l.pass(time.Minute)
		before := l.streams.Load()
		l.engine.Disconnect()
		l.engine.Reconnect()
		l.pass(200 * time.Millisecond)
		if n := l.streams.Load() - before; n != 1 {
			t.Errorf("%d streams at once after one that lasted", n)
		}
	})
}
