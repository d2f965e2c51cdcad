package workload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestAffected(t *testing.T) {
	l := newHarness(t)
	task := api.Task{ID: "t1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "s1"}
	job := api.Task{ID: "t2", Kind: "job", Scope: web.Scope, Name: web.Name}
	l.write(func(txn *records.Txn) {
		for _, ref := range []api.Ref{web, {Kind: web.Kind, Scope: "prod", Name: "api"},
			{Kind: web.Kind, Scope: "test", Name: "web"}} {
			txn.Put(records.ObjectKey(ref), api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
				Spec: json.RawMessage(`{}`)})
		}
		txn.Put(records.TaskKey("t1"), task).Put(records.TaskKey("t2"), job)
	})
	l.put(api.Object{Kind: web.Kind, Scope: "test", Name: "web",
		Spec: json.RawMessage(`{"env":{"A":"${ref.statefulset.db.host}"},"env_from":["shared/db"]}`)})
	other := api.Ref{Kind: api.KindStatefulSet, Scope: "test", Name: "db"}
	key := func(scope, name string) reconciler.Key {
		return reconciler.Key{Kind: "deployment", Scope: scope, Name: name}
	}
	own, inScope := []reconciler.Key{key("prod", "web")}, []reconciler.Key{key("prod", "api"), key("prod", "web")}
	everyone := append(inScope, key("test", "web"))
	object := &api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name}
	for name, test := range map[string]struct {
		reason string
		change view.Change
		want   []reconciler.Key
	}{
		"object": {"its spec", view.Change{Key: records.ObjectKey(web), New: object}, own},
		"object gone": {"what is left of it", view.Change{Key: records.ObjectKey(web), Old: object, Deleted: true},
			own},
		"other kind":     {"not ours", view.Change{New: &api.Object{Kind: "job", Scope: "prod", Name: "web"}}, nil},
		"task":           {"a node was chosen", view.Change{Key: records.TaskKey("t1"), New: &task}, own},
		"task gone":      {"a slot is free", view.Change{Key: records.TaskKey("t1"), Old: &task, Deleted: true}, own},
		"another's task": {"not ours", view.Change{Key: records.TaskKey("t2"), New: &job}, nil},
		"task status": {"the agent's half", view.Change{Key: records.TaskStatusKey("t1"),
			New: &api.TaskStatus{ID: "t1"}}, own},
		"status gone": {"its container is removed", view.Change{Key: records.TaskStatusKey("t1"),
			Old: &api.TaskStatus{ID: "t1"}, Deleted: true}, own},
		"unknown task": {"of no object", view.Change{Key: records.TaskStatusKey("t9"),
			New: &api.TaskStatus{ID: "t9"}}, nil},
		"image status": {"the answer to its question",
			view.Change{Key: records.ImageStatusKey("n1", web), New: &api.ImageStatus{Owner: web}}, own},
		"frozen": {"a person stopped a slot",
			view.Change{Key: records.FrozenKey(web, "s1"), New: &api.Frozen{Slot: "s1"}}, own},
		"thawed": {"and started it", view.Change{Key: records.FrozenKey(web, "s1"),
			Old: &api.Frozen{Slot: "s1"}, Deleted: true}, own},
		"node": {"its engine went or came", view.Change{Key: records.NodeKey("n1"),
			New: &api.NodeStatus{ID: "n1"}}, everyone},
		"heartbeat": {"what fits where changes with it, and the words for it",
			view.Change{Key: records.AliveKey("n1"), Old: []byte("now"), Deleted: true}, everyone},
		"server": {"it hears nodes, or no longer does",
			view.Change{Key: records.ServerKey("s1"), Old: &api.ServerPresence{}, Deleted: true}, everyone},
		"app bucket": {"one app's environment", view.Change{Key: records.ConfigAppPrefix("prod", "web") + "A",
			New: []byte("x")}, own},
		"bucket key gone": {"also without the key", view.Change{
			Key: records.ConfigAppPrefix("prod", "web") + "A", Old: []byte("x"), Deleted: true,
		}, own},
		"scope bucket": {"that of a whole scope", view.Change{Key: records.ConfigScopePrefix("prod") + "A",
			New: []byte("x")}, inScope},
		"env_from": {"a bucket that another names", view.Change{Key: records.ConfigAppPrefix("shared", "db") + "A",
			New: []byte("x")}, []reconciler.Key{key("test", "web")}},
		"referred to": {"what it refers to came or changed", view.Change{
			Key: records.ObjectKey(other), New: &api.Object{Kind: other.Kind, Scope: other.Scope, Name: other.Name},
		}, []reconciler.Key{key("test", "web")}},
		"status of what is referred to": {"its release may be what is wanted",
			view.Change{Key: records.StatusKey(other), New: &api.WorkloadStatus{}}, []reconciler.Key{key("test", "web")}},
		"own status": {"what it wrote itself",
			view.Change{Key: records.StatusKey(web), New: &api.WorkloadStatus{}}, nil},
		"own release": {"that too", view.Change{Key: records.ReleaseKey(web, "v1"),
			New: &api.Release{}}, nil},
		"own request": {"and that", view.Change{Key: records.ImageKey(web),
			New: &api.ImageRequest{Owner: web}}, nil},
		"slot": {"it comes with its task",
			view.Change{Key: records.SlotKey(web, "s1"), New: "t1"}, nil},
		"election": {"no affair of a deployment",
			view.Change{Key: records.LeasesPrefix + "controllers", New: []byte("x")}, nil},
		"unreadable": {"a value that doesn't decode names no object",
			view.Change{Key: records.ObjectKey(web)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, l.c.Affected(l.snapshot(), test.change)); diff != "" {
				t.Errorf("%s:\n%s", test.reason, diff)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	l := newHarness(t)
	if got := l.c.Keys(); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	l.apply(replicas(1, "web:1"))
	if got := l.c.Keys(); len(got) != 1 || got[0] != control.Key(web) {
		t.Errorf("%v", got)
	}
}

// Dirty returns the keys for which a reconcile would write something; a reconcile of any other key writes nothing.
func TestDirtyIsWhatALookWouldWrite(t *testing.T) {
	l := newHarness(t)
	check := func(when string) {
		t.Helper()
		dirty := len(l.c.Dirty(l.now)) > 0
		drawn := l.drawn
		if l.c.Dirty(l.now); l.drawn != drawn {
			t.Errorf("%s: a pass over the view drew ids", when)
		}
		if wrote := l.looks().Revision > 0; wrote != dirty {
			t.Errorf("%s: dirty is %v, what a reconcile wrote is %v", when, dirty, wrote)
		}
	}
	l.apply(replicas(2, "web:1"))
	for _, when := range []string{"applied", "asked for the image", "nothing new"} {
		check(when)
	}
	l.runAgent()
	check("the image is there")
	check("tasks wait")
	l.place()
	check("they have a node")
	l.runAgent()
	check("they run")
	l.pass(10)
	check("they are good")
	check("and stay so")
	l.stamp(api.StampRestart, "1")
	check("restart")
	l.delete()
	check("deletion")
	check("stopping")
	l.runAgent()
	check("stopped")
}
