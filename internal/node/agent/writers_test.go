package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// mounting makes the pod mount what is given.
func mounting(entries ...string) func(*api.Task, *api.DeploymentSpec) {
	return func(_ *api.Task, spec *api.DeploymentSpec) { spec.Volumes = entries }
}

// TestNoSecondWriter: while a container of another program writes to a volume, no pod that would write to it is
// created, and none that was stopped is started. What only reads, or has another volume, starts.
func TestNoSecondWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		l.must(l.engine.RunByHand("shop-db-1",
			map[string]string{volumes.LabelProject: "shop", volumes.LabelService: "db"}, "shop_db:/data", "shop_conf:/conf:ro"))

		refused := l.deploy(taskID(1), mounting("shop_db:/data"))
		l.settle()
		l.want(refused, api.TaskRejected, false, api.ReasonVolumeInUse)
		l.wantContainer(refused, "")
		got := l.status(refused)
		if !strings.Contains(got.Message, "shop-db-1 (service db of the Compose project shop)") ||
			!strings.Contains(got.Next, "tend adopt compose") {
			t.Errorf("it says %q, next %q", got.Message, got.Next)
		}
		for id, mounts := range map[string]string{taskID(2): "shop_db:/data:ro", taskID(3): "shop_conf:/conf",
			taskID(4): "other:/data"} {
			task := l.deploy(id, mounting(mounts))
			l.settle()
			l.wantContainer(task, runtime.StateRunning)
		}

		l.must(l.engine.StopByHand("shop-db-1"))
		l.pass(11 * time.Second)
		task := l.deploy(taskID(5), mounting("shop_db:/data"))
		l.settle()
		l.wantContainer(task, runtime.StateRunning)
		beside := l.deploy(taskID(6), mounting("shop_db:/data")) // pods of Tend's share a volume as before
		l.settle()
		l.wantContainer(beside, runtime.StateRunning)

		l.must(l.engine.StartByHand("shop-db-1"))
		l.must(l.engine.StopByHand(task.ContainerName()))
		l.pass(11 * time.Second)
		l.want(task, api.TaskRejected, false, api.ReasonVolumeInUse)
		l.wantContainer(task, runtime.StateExited)
		l.wantContainer(beside, runtime.StateRunning)
	})
}

// TestNoSecondWriterWithoutARelease: a container whose release is gone starts again, unless another program's container
// writes to what it has mounted.
func TestNoSecondWriterWithoutARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), mounting("shop_db:/data"))
		l.settle()
		l.wantContainer(task, runtime.StateRunning)
		l.commit(records.NewTxn("test").Delete(records.ReleaseKey(task.Owner(), task.Release)))
		l.stop()
		l.start() // it has read no release yet
		l.must(l.engine.StopByHand(task.ContainerName()))
		l.pass(11 * time.Second)
		l.wantContainer(task, runtime.StateRunning)

		l.must(l.engine.RunByHand("db", nil, "shop_db:/data"))
		l.must(l.engine.StopByHand(task.ContainerName()))
		l.pass(11 * time.Second)
		l.wantContainer(task, runtime.StateExited)
		l.want(task, api.TaskRejected, false, api.ReasonVolumeInUse)
	})
}

// TestAWriterThatComesLater: a container of another program that was started after the pod can't be refused. The pod
// goes on, and says within one look which container it is and how to end it, until that has stopped.
func TestAWriterThatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), mounting("shop_db:/data"))
		reader := l.deploy(taskID(2), mounting("shop_db:/data:ro"))
		l.settle()
		l.want(task, api.TaskRunning, true, "")
		l.must(l.engine.RunByHand("shop-db-1",
			map[string]string{volumes.LabelProject: "shop", volumes.LabelService: "db"}, "shop_db:/data"))
		l.pass(11 * time.Second)
		l.want(task, api.TaskRunning, true, api.ReasonVolumeInUse)
		l.want(reader, api.TaskRunning, true, "")
		got := l.status(task)
		if !strings.Contains(got.Message, "shop-db-1 (service db of the Compose project shop)") ||
			!strings.Contains(got.Next, "docker compose -p shop down") {
			t.Errorf("it says %q, next %q", got.Message, got.Next)
		}
		l.must(l.engine.StopByHand("shop-db-1"))
		l.pass(11 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		if got := l.status(task); got.Message != "" || got.Next != "" {
			t.Errorf("it has stopped, and the pod says %q, next %q", got.Message, got.Next)
		}
	})
}

// TestTheLookForOtherWritersHoldsNothing: while it fails, and while it gets no answer, pods are created, and what
// became of them is noticed by the full list; the agent also stops.
func TestTheLookForOtherWritersHoldsNothing(t *testing.T) {
	for name, look := range map[string]func(context.Context) error{
		"it fails":         func(context.Context) error { return errors.New("list the volumes: a plugin is gone") },
		"it never answers": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newHarness(t)
				l.writers = look
				l.start()
				defer l.close()
				task := l.deploy(taskID(1), mounting("shop_db:/data"))
				l.pass(time.Second)
				l.want(task, api.TaskRunning, true, "")
				l.deaf.Store(true)
				l.must(l.engine.StopByHand(task.ContainerName()))
				l.pass(time.Minute)
				l.wantContainer(task, runtime.StateRunning)
			})
		})
	}
}
