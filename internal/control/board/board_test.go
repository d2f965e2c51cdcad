package board

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// TestBoardFollowsChanges: whatever is written, a board that was kept has the tasks, nodes and homes of one that is
// made from the snapshot, and decides the same.
func TestBoardFollowsChanges(t *testing.T) {
	l := newHarness(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, release := range []string{"v1", "v2"} {
		l.release(release, api.DeploymentSpec{Container: api.Container{Volumes: []string{"data:/data"}}})
	}
	for step := range 600 {
		l.write(func(txn *records.Txn) { randomWrite(l, r, txn, step) })
		if r.IntN(3) == 0 {
			txn, _ := l.board.PlaceWaiting(l.snapshot())
			l.commit(txn)
		}
		want, got := contents(l, &Board{demands: l.board.demands}), contents(l, l.board)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("after step %d: %+v, want %+v", step, got, want)
		}
	}
}

type boardContents struct {
	tasks    []placement.Task
	nodes    []placement.Node
	homes    map[string]string
	decision decision
}

func contents(l *harness, b *Board) (out boardContents) {
	_, out.decision = b.plan(l.snapshot())
	b.at(l.snapshot(), func(_ records.Snapshot, l *placement.Ledger) {
		out.tasks, out.nodes, out.homes = l.Tasks(), l.Nodes(), l.Homes()
	})
	return out
}

func randomWrite(l *harness, r *rand.Rand, txn *records.Txn, step int) {
	node, id := fmt.Sprint("n", r.IntN(4)), fmt.Sprint("t", r.IntN(12))
	s := l.snapshot()
	read := s.Task(id)
	switch r.IntN(15) {
	case 0:
		txn.Put(records.NodeKey(node), api.NodeStatus{ID: node, Runtime: "docker", Ready: r.IntN(4) > 0,
			CPUs: float64(1 + r.IntN(3)), MemoryBytes: 4 << 30})
	case 1:
		txn.Delete(records.NodeKey(node))
	case 2, 3:
		if txn.Put(records.AliveKey(node), "now"); r.IntN(3) == 0 {
			txn.Delete(records.NodeKey(node))
		}
	case 11, 12:
		txn.Put(records.AliveKey(node), records.Heartbeat{Server: "s1", Life: epoch,
			Last: []time.Time{{}, {}, epoch.Add(time.Duration(step))}[r.IntN(3)]})
	case 13, 14:
		if _, runs := s.Get(records.ServerKey("s1")); runs {
			txn.Delete(records.ServerKey("s1"))
		} else {
			txn.Put(records.ServerKey("s1"), api.ServerPresence{Since: epoch})
		}
	case 4:
		txn.Put(records.LossesKey(node), api.NodeLosses{At: []time.Time{epoch, epoch, epoch},
			Until: epoch.Add(time.Duration(step))})
	case 5:
		raw, _ := json.Marshal(api.NodeSpec{Availability: []string{api.NodeCordoned, api.NodeDrained, ""}[r.IntN(3)]})
		ref := api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: node}
		txn.Put(records.ObjectKey(ref), api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw})
	case 6:
		raw, _ := json.Marshal(api.DeploymentSpec{Container: api.Container{Placement: &api.Placement{Spread: "node.id"}}})
		txn.Put(records.ObjectKey(web), api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw})
	case 7:
		txn.Put(records.MovesKey(web), api.Moves{Tasks: map[string]string{id: node}})
	case 8:
		if read.Exists() {
			txn.ForgetTask(read)
		}
	case 9:
		if read.Exists() && read.Value.Desired == api.DesiredRunning {
			txn.RaiseTask(read, []api.DesiredState{api.DesiredShutdown, api.DesiredRemoved}[r.IntN(2)], "", epoch)
		}
		txn.Put(records.TaskStatusKey(id), api.TaskStatus{ID: id,
			State: []api.TaskState{api.TaskRunning, api.TaskFailed}[r.IntN(2)]})
	default:
		if !read.Exists() {
			task := api.Task{
				ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "of-" + id,
				Release: fmt.Sprint("v", 1+r.IntN(2)),
				Desired: api.DesiredRunning, CreatedAt: epoch.Add(time.Duration(step) * time.Second),
			}
			if r.IntN(2) == 0 {
				task.Replaces = fmt.Sprint("of-t", r.IntN(12))
			}
			txn.CreateTask(task)
		}
	}
}

// TestReleasesOfOneCommitAreDistinct: a restore writes many in one revision. One asks for a port, which is taken, the
// other for none.
func TestReleasesOfOneCommitAreDistinct(t *testing.T) {
	l := newHarness(t)
	l.node("n1")
	l.write(func(txn *records.Txn) {
		txn.Put(records.ReleaseKey(web, "v1"), l.releaseOf("v1", onPort))
		txn.Put(records.ReleaseKey(web, "v2"), l.releaseOf("v2", api.DeploymentSpec{}))
		for _, id := range []string{"a", "b"} {
			txn.CreateTask(taskOfRelease(id, "v1"))
		}
		txn.CreateTask(taskOfRelease("c", "v2"))
	})
	placed, _ := l.board.PlaceWaiting(l.snapshot())
	l.commit(placed)
	if on := l.on(); on["a"] != "n1" || on["b"] != "" || on["c"] != "n1" {
		t.Errorf("placed are %v", on)
	}
}
