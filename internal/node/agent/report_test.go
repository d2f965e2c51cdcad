package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestNothingUnchangedIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		for i := range 10 {
			l.deploy(taskID(i), nil)
		}
		l.request(image, "")
		l.settle()
		l.store.reports()
		l.pass(time.Hour)
		if n := len(l.store.reports()); n != 0 {
			t.Errorf("%d reports in an hour in which nothing happened", n)
		}
	})
}

func TestReportsAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		l.store.failing(errors.New("the store is away"))
		const many = 250
		for i := range many {
			l.deploy(taskID(i), nil)
		}
		l.pass(time.Minute)
		l.store.reports()
		l.store.failing(nil)
		l.pass(10 * time.Second)
		reports := l.store.reports()
		written := 0
		for _, txn := range reports {
			if len(txn.Do) > 100 {
				t.Errorf("%d statuses in one commit, at most 100", len(txn.Do))
			}
			written += len(txn.Do)
		}
		if len(reports) != 3 || written != many {
			t.Errorf("%d statuses in %d commits, want %d in 3: only the newest word on each counts", written, len(reports), many)
		}
		for i := range many {
			l.want(api.Task{ID: taskID(i)}, api.TaskRunning, true, "")
		}
	})
}

func TestWorkersBoundHowManyStartAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{StartDelay: hollow.Delay(time.Second)})
		l.start()
		defer l.close()
		for i := range 20 {
			l.deploy(taskID(i), nil)
		}
		l.settle()
		l.pass(time.Second)
		if n := len(l.running()); n != 8 {
			t.Errorf("%d run after one start's time, want 8", n)
		}
		l.pass(2 * time.Second)
		if n := len(l.running()); n != 20 {
			t.Errorf("%d run after three starts' time, want 20", n)
		}
	})
}

func (l *harness) running() []string {
	var names []string
	for _, c := range l.engine.Containers() {
		if c.PID != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestReportLosesARaceAndReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{StartDelay: hollow.Delay(time.Second)})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.raise(task, api.DesiredShutdown) // while the start is under way
		l.pass(2 * time.Second)
		l.want(task, api.TaskShutdown, false, "Shutdown")
	})
}

// TestANodeTouchesOnlyItsOwn calls the authoriser directly.
func TestANodeTouchesOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		v := view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		control := local.New(local.Options{Store: l.store, View: v, Keys: plain{}}).Node(nodeID)
		foreign := l.deploy(taskID(1), func(task *api.Task, _ *api.DeploymentSpec) { task.Node = "n2" })
		own := l.deploy(taskID(2), nil)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = v.Run(ctx) }()
		<-v.Synced()
		l.view = v

		for name, tc := range map[string]struct {
			reason string
			report node.Report
		}{
			"foreign task": {"belongs to n2",
				node.Report{Tasks: []api.TaskStatus{{ID: foreign.ID, Node: nodeID, State: api.TaskRunning}}}},
			"foreign node": {"speaks for n2",
				node.Report{Tasks: []api.TaskStatus{{ID: own.ID, Node: "n2", State: api.TaskRunning}}}},
			"foreign facts": {"speaks for n2", node.Report{Node: &api.NodeStatus{ID: "n2"}}},
			"wanted task":   {"its observed half is needed", node.Report{Forget: []string{own.ID}}},
		} {
			if err := control.Report(ctx, tc.report); !errors.Is(err, node.ErrForbidden) {
				t.Errorf("%s (%s): %v", name, tc.reason, err)
			}
		}
		if _, known := control.Task(foreign.ID); known {
			t.Error("another node's task is handed out")
		}
		if ids := control.Tasks(); len(ids) != 1 || ids[0] != own.ID {
			t.Errorf("tasks %v", ids)
		}
		ended2 := api.TaskStatus{ID: own.ID, Node: nodeID, State: api.TaskFailed}
		l.must(control.Report(ctx, node.Report{Tasks: []api.TaskStatus{ended2}}))
		back := ended2
		back.State = api.TaskRunning
		if err := control.Report(ctx, node.Report{Tasks: []api.TaskStatus{back}}); !errors.Is(err, node.ErrForbidden) {
			t.Errorf("an end was left: %v", err)
		}
		gone := api.TaskStatus{ID: "gone", Node: nodeID, State: api.TaskRunning}
		l.must(control.Report(ctx, node.Report{Tasks: []api.TaskStatus{gone}}))
		if l.snapshot().TaskStatus("gone").Exists() {
			t.Error("a status without a desired half was written")
		}
		cancel()
		<-ended
		l.engine.Close()
		_ = l.store.Close()
	})
}

// TestStopWithAReportThatIsNotTaken: the agent ends without an error, and the next one reports what it finds.
func TestStopWithAReportThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		l.store.failing(errors.New("the disk is full"))
		task := l.deploy(taskID(1), nil)
		l.pass(time.Second)
		l.stop() // which requires that it ends without an error
		l.store.failing(nil)
		l.start()
		defer l.close()
		l.pass(10 * time.Second)
		l.want(task, api.TaskRunning, true, "")
	})
}
