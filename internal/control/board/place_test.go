package board

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// node stores a node that takes tasks.
func (l *harness) node(ids ...string) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		for _, id := range ids {
			txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: "docker", Ready: true, CPUs: 4,
				MemoryBytes: 4 << 30})
			txn.Put(records.AliveKey(id), "now")
		}
	})
}

func taskOfRelease(id, release string) api.Task {
	return api.Task{
		ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "of-" + id, Release: release,
		Desired: api.DesiredRunning, CreatedAt: epoch,
	}
}

// step returns the transaction of a step that makes a release, and tasks of it.
func (l *harness) step(release string, spec api.DeploymentSpec, ids ...string) *records.Txn {
	l.Helper()
	txn := records.NewTxn("step").Put(records.ReleaseKey(web, release), l.releaseOf(release, spec))
	for _, id := range ids {
		txn.CreateTask(taskOfRelease(id, release))
	}
	return txn
}

// on returns the nodes of the tasks that have one.
func (l *harness) on() map[string]string {
	out := map[string]string{}
	for _, task := range l.snapshot().Tasks() {
		if task.Value.Node != "" {
			out[task.Value.ID] = task.Value.Node
		}
	}
	return out
}

// try commits and reports whether that was refused because something else was placed.
func (l *harness) try(txn *records.Txn) (overtaken bool) {
	l.Helper()
	revision, err := txn.Commit(context.Background(), l.store)
	if _, overtaken = Overtaken(err); overtaken {
		return true
	}
	if err == nil {
		err = l.view.WaitFor(context.Background(), revision)
	}
	if err != nil {
		l.Fatal(err)
	}
	return false
}

var onPort = api.DeploymentSpec{Ports: []string{"8080:80"}}

// TestAStepPlacesItsTasks, and the data in their volumes, by the release that it makes in the same commit: of three
// tasks with one port of the host, two fit on two nodes.
func TestAStepPlacesItsTasks(t *testing.T) {
	l := newHarness(t)
	l.node("n1", "n2")
	l.release("v1", api.DeploymentSpec{Ports: []string{"7070:70"}})
	spec := onPort
	spec.Volumes = []string{"/data:/data"}
	l.commit(l.board.Place(l.snapshot(), l.step("v2", spec, "a")))
	home := l.on()["a"]
	if got := l.snapshot().Homes()["/data"]; home == "" || got != home {
		t.Errorf("the task is on %q, and its data on %q", home, got)
	}
	l.commit(l.board.Place(l.snapshot(), l.step("v3", onPort, "b", "c")))
	other := map[string]string{"n1": "n2", "n2": "n1"}[home]
	if diff := cmp.Diff(map[string]string{"a": home, "b": other}, l.on()); diff != "" {
		t.Error(diff)
	}
	if why := l.board.Refusals(l.snapshot())["c"].Message; why == "" {
		t.Error("nothing is said of the third")
	}
}

// TestTwoStepsByTheSameStateNeverOvercommit: two processes place by what both read, and there is room for one.
// Whichever commits first wins, and the other one's task waits.
func TestTwoStepsByTheSameStateNeverOvercommit(t *testing.T) {
	l := newHarness(t)
	l.node("n1")
	s, plain := l.snapshot(), l.step("v2", onPort, "b")
	first, second := New().Place(s, l.step("v1", onPort, "a")), New().Place(s, plain)
	if l.try(first) {
		t.Fatal("the first one is refused")
	}
	if !l.try(second) {
		t.Error("the second one is applied, by a state that is no more")
	}
	l.try(plain)
	rest, _ := New().PlaceWaiting(l.snapshot())
	l.try(rest)
	if on := l.on(); len(on) != 1 || on["a"] == "" {
		t.Errorf("a node with room for one has %v", on)
	}
}

// TestAStepAndTheSchedulerNeverOvercommit: a step that read before the scheduler placed is refused, and so is the
// scheduler that read before a step placed.
func TestAStepAndTheSchedulerNeverOvercommit(t *testing.T) {
	for _, stepFirst := range []bool{true, false} {
		l := newHarness(t)
		l.node("n1")
		before := l.snapshot()
		l.commit(l.step("v1", onPort, "waits"))
		step := New().Place(before, l.step("v2", onPort, "new"))
		schedule, _ := New().PlaceWaiting(l.snapshot())
		first, second := schedule, step
		if stepFirst {
			first, second = step, schedule
		}
		if l.try(first) || !l.try(second) {
			t.Errorf("step first: %v: either the first one is refused, or the second one isn't", stepFirst)
		}
		if on := l.on(); len(on) != 1 {
			t.Errorf("a node with room for one has %v", on)
		}
	}
}

// TestNewTasksDontJumpTheQueue: while an older task waits that fits, a step leaves its own to the scheduler; one that
// fits nowhere holds nobody up.
func TestNewTasksDontJumpTheQueue(t *testing.T) {
	l := newHarness(t)
	l.node("n1")
	l.commit(l.step("v1", onPort, "waits"))
	if txn := l.board.Place(l.snapshot(), l.step("v2", api.DeploymentSpec{}, "new")); txn != nil {
		t.Error("it places its task while another one is about to be placed")
	}
	placed, _ := l.board.PlaceWaiting(l.snapshot())
	l.commit(placed)
	l.commit(l.step("v3", onPort, "fits nowhere"))
	l.commit(l.board.Place(l.snapshot(), l.step("v4", api.DeploymentSpec{}, "newer")))
	if diff := cmp.Diff(map[string]string{"waits": "n1", "newer": "n1"}, l.on()); diff != "" {
		t.Error(diff)
	}
}

// TestOneProcessDoesNotRaceItself: of two steps of one process with the same state one places; the other would be
// refused.
func TestOneProcessDoesNotRaceItself(t *testing.T) {
	l := newHarness(t)
	l.node("n1")
	s := l.snapshot()
	first := l.board.Place(s, l.step("v1", api.DeploymentSpec{}, "a"))
	if again := l.board.Place(s, l.step("v2", api.DeploymentSpec{}, "b")); first == nil || again != nil {
		t.Errorf("the first places: %v, the second: %v", first != nil, again != nil)
	}
	l.commit(first)
	if next := l.board.Place(l.snapshot(), l.step("v3", api.DeploymentSpec{}, "c")); next == nil {
		t.Error("the next one does not place")
	}
}

// TestPlacesAreThoseOfTheScheduler: in random worlds, a step puts its tasks where the scheduler would after the same
// commit without nodes.
func TestPlacesAreThoseOfTheScheduler(t *testing.T) {
	placedAny := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		l, twin := newHarness(t), newHarness(t)
		both := func(fill func(l *harness, txn *records.Txn)) {
			for _, each := range []*harness{l, twin} {
				each.write(func(txn *records.Txn) { fill(each, txn) })
			}
		}
		spec := api.DeploymentSpec{Container: api.Container{Volumes: []string{"data:/data"}}}
		both(func(l *harness, txn *records.Txn) {
			txn.Put(records.ReleaseKey(web, "v1"), l.releaseOf("v1", spec)).Put(records.ReleaseKey(web, "v2"),
				l.releaseOf("v2", onPort))
		})
		for step := range 60 {
			draw := r.Uint64()
			both(func(l *harness, txn *records.Txn) { randomWrite(l, rand.New(rand.NewPCG(draw, 1)), txn, step) })
		}
		if now := l.snapshot(); now.Revision() != twin.snapshot().Revision() {
			t.Fatal("the twins differ")
		}
		for _, each := range []*harness{l, twin} {
			waiting, _ := each.board.PlaceWaiting(each.snapshot())
			each.commit(waiting)
		}
		draw := r.Uint64()
		txns := map[*harness]*records.Txn{}
		for _, each := range []*harness{l, twin} {
			txns[each] = randomStep(each, rand.New(rand.NewPCG(draw, 3)))
		}
		placed := l.board.Place(l.snapshot(), txns[l])
		if placed == nil {
			continue
		}
		placedAny++
		l.commit(placed)
		twin.commit(txns[twin])
		rest, _ := twin.board.PlaceWaiting(twin.snapshot())
		twin.commit(rest)
		if diff := cmp.Diff(twin.on(), l.on()) + cmp.Diff(twin.snapshot().Homes(), l.snapshot().Homes()); diff != "" {
			t.Fatalf("seed %d: the scheduler (-) and the step (+) differ:\n%s", seed, diff)
		}
	}
	if placedAny < 5 {
		t.Errorf("%d steps placed something: this shows nothing", placedAny)
	}
}

// randomStep returns a transaction that creates tasks, some in the places of others, which it stops or forgets.
func randomStep(l *harness, r *rand.Rand) *records.Txn {
	spec := api.DeploymentSpec{Ports: []string{fmt.Sprint(8080+r.IntN(2), ":80")}}
	txn := records.NewTxn("step").Put(records.ReleaseKey(web, "v9"), l.releaseOf("v9", spec))
	for i, old := range l.snapshot().Tasks() {
		task := taskOfRelease(fmt.Sprint("new", i), []string{"v1", "v2", "v9"}[r.IntN(3)])
		task.CreatedAt = epoch.Add(time.Hour)
		switch r.IntN(4) {
		case 0:
			if old.Value.Desired == api.DesiredRunning {
				txn.RaiseTask(old, api.DesiredShutdown, "", epoch)
				task.Replaces, task.After = old.Value.Slot, old.Value.ID
				txn.CreateTask(task)
			}
		case 1:
			txn.ForgetTask(old)
			txn.CreateTask(task)
		case 2:
			txn.CreateTask(task)
		}
	}
	return txn
}

// TestAnythingElseIsNoRace: another reason for a conflict is one for the step itself.
func TestAnythingElseIsNoRace(t *testing.T) {
	for _, err := range []error{nil, errors.New("away"), &store.ConflictError{Key: records.TaskKey("t"), Have: 7}} {
		if at, overtaken := Overtaken(err); overtaken || at != 0 {
			t.Errorf("%v counts as a lost race at %d", err, at)
		}
	}
	if at, overtaken := Overtaken(fmt.Errorf("commit: %w",
		&store.ConflictError{Key: records.PlacingKey, Have: 7})); !overtaken || at != 7 {
		t.Errorf("a lost race does not count: %v, %d", overtaken, at)
	}
}
