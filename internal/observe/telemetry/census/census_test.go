package census

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// world is a store with a view whose contents are counted.
type world struct {
	t        *testing.T
	store    *memory.Store
	view     *view.View
	registry *prometheus.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: memory.New(), registry: prometheus.NewRegistry()}
	w.view = view.New(w.store, view.Options{
		Decode: records.Decode, Indexes: records.Indexes, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.view.Run(ctx) })
	<-w.view.Synced()
	w.write(func(txn *records.Txn) { txn.Put(records.SchemaKey, "1") })
	t.Cleanup(func() { cancel(); running.Wait(); w.store.Close() })
	Register(w.registry, w.view)
	return w
}

func (w *world) write(edit func(*records.Txn)) {
	w.t.Helper()
	txn := records.NewTxn("test")
	edit(txn)
	revision, err := txn.Commit(w.t.Context(), w.store)
	if err == nil {
		err = w.view.WaitFor(w.t.Context(), revision)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// wants compares series once the view's listeners have seen the last write.
func (w *world) wants(name, help, kind, series string) {
	w.t.Helper()
	want := "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n" + series
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := testutil.GatherAndCompare(w.registry, strings.NewReader(want), name)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal(err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// everyState lists the record and the state of each counted transition, in the order of the metrics.
var everyState = strings.Fields(`
	lab COMPLETED lab FAILED lab PENDING lab PROVISIONING lab RUNNING lab TIMEOUT
	pod accepted pod assigned pod complete pod failed pod pending pod preparing pod rejected pod running pod shutdown pod starting
	rollout complete rollout paused rollout progressing rollout rolledback rollout rollingback
	run failed run pending run replaced run running run succeeded`)

// wantTransitions checks that each transition in once was counted once, and no others.
func (w *world) wantTransitions(once ...string) {
	w.t.Helper()
	series := "\n"
	for state := range slices.Chunk(everyState, 2) {
		count := 0
		if slices.Contains(once, state[0]+" "+state[1]) {
			count = 1
		}
		series += fmt.Sprintf("tend_state_transitions_total{record=%q,state=%q} %d\n", state[0], state[1], count)
	}
	w.wants("tend_state_transitions_total", "Changes of the state of a pod, a run, a lab or a rollout, by the state it has now.", "counter", series)
}

// TestWhatHasNotHappenedIsZero: a fresh server serves the transitions of each state, as 0.
func TestWhatHasNotHappenedIsZero(t *testing.T) { newWorld(t).wantTransitions() }

func task(id, node string) api.Task {
	return api.Task{
		ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: id, Node: node, Desired: api.DesiredRunning,
	}
}

func TestPodsAndNodesAreCountedByState(t *testing.T) {
	w := newWorld(t)
	w.write(func(txn *records.Txn) {
		txn.Put(records.NodeKey("a"), api.NodeStatus{ID: "a", Ready: true}).Put(records.AliveKey("a"), "1")
		txn.Put(records.NodeKey("b"), api.NodeStatus{ID: "b", Ready: true})
		txn.Put(records.TaskKey("t1"), task("t1", "")).Put(records.TaskKey("t2"), task("t2", "a")).Put(records.TaskKey("t3"), task("t3", "a"))
		txn.Put(records.TaskStatusKey("t3"), api.TaskStatus{ID: "t3", Node: "a", State: api.TaskRunning, Ready: true})
	})
	w.wants("tend_pods", "Pods by the kind of their object and their state.", "gauge", `
tend_pods{kind="deployment",state="assigned"} 1
tend_pods{kind="deployment",state="pending"} 1
tend_pods{kind="deployment",state="running"} 1
`)
	w.wants("tend_nodes", "Nodes by state and availability.", "gauge", `
tend_nodes{availability="active",state="down"} 1
tend_nodes{availability="active",state="ready"} 1
tend_nodes{availability="active",state="unready"} 0
tend_nodes{availability="cordoned",state="down"} 0
tend_nodes{availability="cordoned",state="ready"} 0
tend_nodes{availability="cordoned",state="unready"} 0
tend_nodes{availability="drained",state="down"} 0
tend_nodes{availability="drained",state="ready"} 0
tend_nodes{availability="drained",state="unready"} 0
`)
	w.write(func(txn *records.Txn) {
		txn.Put(records.TaskStatusKey("t3"), api.TaskStatus{ID: "t3", Node: "a", State: api.TaskFailed})
		txn.Delete(records.TaskKey("t1"))
	})
	w.wants("tend_pods", "Pods by the kind of their object and their state.", "gauge", `
tend_pods{kind="deployment",state="assigned"} 1
tend_pods{kind="deployment",state="failed"} 1
`)
	w.wantTransitions("pod failed", "pod running")
	w.wants("tend_cleanup_operations_total", "Records that were deleted because nothing needs them any more.", "counter", `
tend_cleanup_operations_total{record="delivery"} 0
tend_cleanup_operations_total{record="object"} 0
tend_cleanup_operations_total{record="release"} 0
tend_cleanup_operations_total{record="run"} 0
tend_cleanup_operations_total{record="task"} 1
`)
}

// TestMovesOfLabsAreCounted: each move of a lab is counted once.
func TestMovesOfLabsAreCounted(t *testing.T) {
	w := newWorld(t)
	lab := api.Ref{Kind: api.KindLab, Scope: "school", Name: "linux"}
	for _, phase := range []api.LabPhase{
		api.LabPending, api.LabPending, api.LabProvisioning, api.LabRunning, api.LabRunning, api.LabTimeout, api.LabTimeout,
	} {
		w.write(func(txn *records.Txn) { txn.Put(records.StatusKey(lab), api.LabStatus{Phase: phase}) })
	}
	w.wantTransitions("lab PENDING", "lab PROVISIONING", "lab RUNNING", "lab TIMEOUT")
}

// TestRolloutsAreTimed: a rollout is timed once, when it ends.
func TestRolloutsAreTimed(t *testing.T) {
	w := newWorld(t)
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	status := func(phase api.RolloutPhase, ended time.Time) {
		w.write(func(txn *records.Txn) {
			rollout := &api.RolloutStatus{Phase: phase, StartedAt: began, EndedAt: ended}
			txn.Put(records.StatusKey(web), api.WorkloadStatus{Rollout: rollout})
		})
	}
	status(api.RolloutProgressing, time.Time{})
	status(api.RolloutPaused, time.Time{})
	status(api.RolloutComplete, began.Add(20*time.Second))
	status(api.RolloutComplete, began.Add(20*time.Second))
	w.wantTransitions("rollout complete", "rollout paused", "rollout progressing")
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "tend_rollout_duration_seconds" {
			if h := family.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() != 20 {
				t.Errorf("%d rollouts of %v s, want one of 20", h.GetSampleCount(), h.GetSampleSum())
			}
			return
		}
	}
	t.Error("no rollout was timed")
}
