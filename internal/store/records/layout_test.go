package records_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

func task(id, slot string) api.Task {
	return api.Task{
		ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: slot, Release: "v1",
		Class: api.ClassKeep, Desired: api.DesiredRunning, CreatedAt: time.Unix(int64(len(id)), 0).UTC(),
	}
}

// fixture is a store and a view that shows what was committed.
type fixture struct {
	t     *testing.T
	store store.Store
	view  *view.View
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	p := &fixture{t: t, store: memory.New()}
	p.view = view.New(p.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = p.view.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done; _ = p.store.Close() })
	return p
}

func (p *fixture) commit(txn *records.Txn) records.Snapshot {
	p.t.Helper()
	revision, err := txn.Commit(context.Background(), p.store)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.view.WaitFor(context.Background(), revision); err != nil {
		p.t.Fatal(err)
	}
	return records.Snapshot{Reader: p.view.Snapshot()}
}

func TestEveryRecordComesBackAsWritten(t *testing.T) {
	p := newFixture(t)
	object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: []byte(`{"image":"web:1"}`)}
	status := api.WorkloadStatus{Replicas: 3}
	observed := api.TaskStatus{ID: "t1", State: api.TaskRunning}
	release := api.Release{ID: "v1", Number: 1, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: []byte(`{}`)}
	request := api.ImageRequest{Owner: web, Image: "web:1"}
	answer := api.ImageStatus{Owner: web, Node: "n1", State: api.ImagePresent}
	found := records.Found{Answer: answer}
	frozen := api.Frozen{Slot: "a"}
	node := api.NodeStatus{ID: "n1", Ready: true, Address: netip.MustParseAddr("192.0.2.1"), RelayPort: 8690}
	s := p.commit(records.NewTxn("test").
		Put(records.ObjectKey(web), object).Put(records.StatusKey(web), status).CreateTask(task("t1", "a")).
		Put(records.TaskStatusKey("t1"), observed).Put(records.ReleaseKey(web, "v1"), release).
		Put(records.ImageKey(web), request).Put(records.ImageStatusKey("n1", web), answer).
		Put(records.FoundKey(web), found).
		Put(records.FrozenKey(web, "a"), frozen).Put(records.NodeKey("n1"), node).
		Put(records.AliveKey("n1"), "n1").Put(records.NameKey(web), web))

	object.Metadata.Revision = s.Revision()
	for what, pair := range map[string][2]any{
		"object": {object, *s.Object(web).Value}, "status": {status, *s.WorkloadStatus(web).Value},
		"task": {task("t1", "a"), *s.Task("t1").Value}, "task status": {observed, *s.TaskStatus("t1").Value},
		"release": {release, *s.Release(web, "v1").Value}, "image request": {request, *s.ImageRequest(web).Value},
		"image status": {answer, *s.ImageStatuses(web)[0].Value},
		"found":        {found, *s.Found(web).Value}, "answers": {1, len(s.ImageStatuses(web))},
		"frozen": {frozen, *s.Frozen(web)[0].Value},
		"node":   {node, *s.Node("n1").Value}, "name": {web, *s.NameOwner(web).Value}, "alive": {true, s.Alive("n1")},
	} {
		if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-written +read):\n%s", what, diff)
		}
	}
}

func TestTwoTasksNeverShareASlot(t *testing.T) {
	p := newFixture(t)
	p.commit(records.NewTxn("test").CreateTask(task("t1", "a")))
	_, err := records.NewTxn("test").CreateTask(task("t2", "a")).Commit(context.Background(), p.store)
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("%v; want a conflict on the slot", err)
	}
}

func TestDesiredStateOnlyRises(t *testing.T) {
	p := newFixture(t)
	s := p.commit(records.NewTxn("test").CreateTask(task("t1", "a")))
	now := time.Unix(100, 0).UTC()
	s = p.commit(records.NewTxn("test").RaiseTask(s.Task("t1"), api.DesiredShutdown, "scaled down", now))
	s = p.commit(records.NewTxn("test").RaiseTask(s.Task("t1"), api.DesiredRemoved, "later", now.Add(time.Hour)))
	got := s.Task("t1").Value
	if got.Desired != api.DesiredRemoved || got.Reason != "scaled down" || !got.EndedAt.Equal(now) {
		t.Errorf("%+v; want removed, with the reason and time of the first end", got)
	}
	if _, err := records.NewTxn("test").RaiseTask(s.Task("t1"), api.DesiredRunning, "", now).Commit(context.Background(),
		p.store); err == nil {
		t.Error("a removed task was revived")
	}
}

func TestTasksAreFoundByOwnerAndNodeOldestFirst(t *testing.T) {
	p := newFixture(t)
	placed := task("t22", "b")
	placed.Node = "n1"
	other := task("t1", "a")
	other.Name = "other"
	s := p.commit(records.NewTxn("test").CreateTask(task("t333", "c")).CreateTask(placed).CreateTask(other))
	var ids []string
	for _, read := range s.TasksOf(web) {
		ids = append(ids, read.Value.ID)
	}
	if diff := cmp.Diff([]string{"t22", "t333"}, ids); diff != "" {
		t.Error(diff)
	}
	if on := s.TasksOn("n1"); len(on) != 1 || on[0].Value.ID != "t22" {
		t.Errorf("on n1: %v", on)
	}
}

func TestScopesAndNamesThatJoinAlikeKeepTheirOwnKeys(t *testing.T) {
	a := api.Ref{Kind: api.KindDeployment, Scope: "a", Name: "b-c"}
	b := api.Ref{Kind: api.KindDeployment, Scope: "a-b", Name: "c"}
	if records.ObjectKey(a) == records.ObjectKey(b) || records.NameKey(a) != records.NameKey(b) {
		t.Error("objects must differ and claim the same name")
	}
	ref, rest, ok := records.ParseRef("deployment/a/b-c/slot")
	if !ok || ref != a || rest != "slot" {
		t.Errorf("%v %q %v", ref, rest, ok)
	}
}

func TestUndecodableRecordsAreNamed(t *testing.T) {
	_, err := records.Decode(records.TaskKey("t1"), []byte("{"))
	if err == nil {
		t.Fatal("half a record was decoded")
	}
}
