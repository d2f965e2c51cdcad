package workload

import (
	"encoding/json"
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestWaitsForTheOldWriterOfItsVolume: while an object that writes to the volume is being deleted, its pods may still
// run: the first pod of another object with that volume waits until the object is gone, and so does a release that adds
// the volume.
func TestWaitsForTheOldWriterOfItsVolume(t *testing.T) {
	old := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "old", Metadata: api.Metadata{Generation: 1},
		Spec: json.RawMessage(`{"image":"db:1","volumes":["mvdata:/data"]}`)}
	mounts := func(entry string, labels map[string]string) api.DeploymentSpec {
		spec := replicas(1, "web:1")
		spec.Volumes, spec.Labels = []string{entry}, labels
		return spec
	}
	for name, tc := range map[string]struct {
		reason string
		before *api.DeploymentSpec
		spec   api.DeploymentSpec
		kept   bool // the old one is not being deleted
		runs   string
		then   string
	}{
		"renamed":   {"the old one still runs", nil, mounts("mvdata:/d", nil), false, "", "v1"},
		"a reader":  {"it breaks nothing", nil, mounts("mvdata:/d:ro", nil), false, "v1", "v1"},
		"another":   {"it has its own", nil, mounts("other:/d", nil), false, "v1", "v1"},
		"declared":  {"several may", nil, mounts("mvdata:/d", map[string]string{api.SharedVolumes: "mvdata"}), false, "v1", "v1"},
		"both stay": {"that is warned of", nil, mounts("mvdata:/d", nil), true, "v1", "v1"},
		"an update": {"the release in force runs on", new(mounts("other:/d", nil)), mounts("mvdata:/d", nil), false, "v1", "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			leaving := old
			if !tc.kept {
				leaving.Metadata.DeletedAt = &l.now
			}
			l.put(leaving)
			if tc.before != nil {
				l.apply(*tc.before)
				l.settle()
			}
			l.apply(tc.spec)
			l.settle()
			if got := l.running(); got != tc.runs {
				t.Errorf("%s: %q run beside it, want %q", tc.reason, got, tc.runs)
			}
			if tc.runs != tc.then {
				l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonWaitingForDependency,
					"waits for deployment/prod/old (it is being deleted, and writes to mvdata)")
			}
			l.write(func(txn *records.Txn) { txn.Delete(records.ObjectKey(old.Ref())) })
			if tc.runs != tc.then && !l.wakes(view.Change{Key: records.ObjectKey(old.Ref()), Old: &leaving, Deleted: true}) {
				t.Error("its end enqueues nothing")
			}
			l.settle()
			if got := l.running(); got != tc.then {
				t.Errorf("%s: %q run once it is gone, want %q", tc.reason, got, tc.then)
			}
		})
	}
}

// wakes reports whether a change enqueues the harness's object.
func (l *harness) wakes(change view.Change) bool {
	for _, key := range l.c.Affected(l.snapshot(), change) {
		if key == control.Key(web) {
			return true
		}
	}
	return false
}

// TestWaitsForNoWriterOnAnotherNode: a volume is its node's. Where the constraints keep the new pods off the old one's
// nodes, nothing is waited for, also if that node is off and the deletion with it.
func TestWaitsForNoWriterOnAnotherNode(t *testing.T) {
	for name, tc := range map[string]struct {
		constraint string
		node       string // of the old one's pod; empty while it has none
		old, own   bool   // has its volumes on shared storage
		runs       string
	}{
		"kept apart":              {"node.id == n2", "n1", false, false, "v1"},
		"its storage is shared":   {"node.id == n2", "n1", true, false, ""},
		"and so is the new one's": {"node.id == n2", "n1", false, true, ""},
		"on its node":             {"node.id == n1", "n1", false, false, ""},
		"anywhere":                {"node.id != n3", "n1", false, false, ""},
		"not yet on any":          {"node.id == n2", "", false, false, ""},
		"on one that is unknown":  {"node.id == n2", "n9", false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.join("n1", "n2")
			old := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "old", Metadata: api.Metadata{Generation: 1,
				DeletedAt: &l.now}, Spec: fmt.Appendf(nil, `{"image":"db:1","volumes":["mvdata:/data"],"placement":{"shared_storage":%v}}`, tc.old)}
			l.put(old)
			l.write(func(txn *records.Txn) {
				txn.Put(records.TaskKey("old-1"), api.Task{ID: "old-1", Kind: old.Kind, Scope: old.Scope, Name: old.Name,
					Slot: "1", Release: "v1", Node: tc.node, Desired: api.DesiredRemoved})
			})
			spec := replicas(1, "web:1")
			spec.Volumes = []string{"mvdata:/d"}
			spec.Placement = &api.Placement{Constraints: []string{tc.constraint}, SharedStorage: tc.own}
			l.apply(spec)
			l.settle()
			if got := l.running(); got != tc.runs {
				t.Errorf("%q run, want %q", got, tc.runs)
			}
		})
	}
}

// TestALeavingWriterOnASilentNode: while the node of the old writer does not answer, the release that waits says what
// helps.
func TestALeavingWriterOnASilentNode(t *testing.T) {
	l := newHarness(t)
	l.join("n1", "n2")
	old := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "old", Metadata: api.Metadata{Generation: 1,
		DeletedAt: &l.now}, Spec: json.RawMessage(`{"image":"db:1","volumes":["mvdata:/data"]}`)}
	l.put(old)
	l.write(func(txn *records.Txn) {
		txn.Put(records.TaskKey("old-1"), api.Task{ID: "old-1", Kind: old.Kind, Scope: old.Scope, Name: old.Name,
			Slot: "1", Release: "v1", Node: "n2", Desired: api.DesiredRemoved})
	})
	spec := replicas(1, "web:1")
	spec.Volumes = []string{"mvdata:/d"}
	l.apply(spec)
	says := func(when, want string) {
		t.Helper()
		l.settle()
		c := l.condition(api.ConditionProgressing)
		if c.Reason != api.ReasonWaitingForDependency || c.Next != want {
			t.Errorf("%s: %+v, want the step %q", when, c, want)
		}
	}
	says("it answers", "")
	l.silence("n2")
	says("it is silent", "start Tend on node n2 (systemctl start tend-agent, or tend); Tend then continues; "+
		"if the machine is off: tend nodes confirm-down n2")
	l.returns("n2")
	says("it answers again", "")
}
