package verbs

import (
	"encoding/json"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

var dbRef = api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}

func statefulSet(spec string) api.Object {
	return api.Object{Kind: dbRef.Kind, Scope: dbRef.Scope, Name: dbRef.Name, Spec: json.RawMessage(spec)}
}

const threeWithData = `{"image":"db:1","replicas":3,"volume_claims":[{"name":"data","mount_path":"/data"}]}`

// fills creates a task for an ordinal.
func (w *world) fills(slot string, change func(*api.Task)) {
	w.t.Helper()
	task := api.Task{ID: "task-" + slot, Kind: dbRef.Kind, Scope: dbRef.Scope, Name: dbRef.Name, Slot: slot, Node: "n1",
		Desired: api.DesiredRunning}
	if change != nil {
		change(&task)
	}
	w.put(records.TaskKey(task.ID), task)
	w.put(records.SlotKey(dbRef, slot), task.ID)
}

func TestRebootstrap(t *testing.T) {
	cases := map[string]struct {
		reason  string
		ordinal int
		task    func(*api.Task)
		want    Reason // empty is done
	}{
		"runs":    {"its task carries an older nonce from now on", 1, func(*api.Task) {}, ""},
		"stopped": {"a frozen one has a task too", 1, func(t *api.Task) { t.Desired = api.DesiredShutdown }, ""},
		"beyond":  {"there is no such ordinal", 3, func(*api.Task) {}, NotFound},
		"removed": {"what is on its way out could miss the request", 1,
			func(t *api.Task) { t.Desired = api.DesiredRemoved }, Busy},
		"no node":   {"no node could remove the volume", 1, func(t *api.Task) { t.Node = "" }, Busy},
		"no task":   {"nor is there one without a task", 2, func(*api.Task) {}, Busy},
		"no number": {"an ordinal is not negative", -1, func(*api.Task) {}, Invalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(statefulSet(threeWithData))
			w.fills("1", tc.task)
			w.put(records.FrozenKey(dbRef, "1"), api.Frozen{Slot: "1"})
			got, err := w.service.Rebootstrap(t.Context(), TargetOf(dbRef), tc.ordinal, "me")
			stamp := w.object(dbRef).Metadata.Stamps[api.StampRebootstrap+"1"]
			if tc.want != "" {
				wantReason(t, err, tc.want)
				if stamp != "" {
					t.Errorf("%s: it was refused and stored", tc.reason)
				}
				return
			}
			if err != nil || stamp != "1" || !slices.Equal(got.Volumes, []string{"tend-prod-db-data-1"}) {
				t.Fatalf("%s: %+v, %v, stamp %q", tc.reason, got, err, stamp)
			}
			if len(w.snapshot().Frozen(dbRef)) != 0 || !slices.Equal(got.Unfrozen, []string{"prod-db.1"}) {
				t.Errorf("it stays frozen: %+v", got)
			}
			if generation := w.object(dbRef).Metadata.Generation; generation != 1 {
				t.Errorf("the spec is the same, and its generation %d", generation)
			}
		})
	}
}

// The request is not stored if the task changed since it was read.
func TestRebootstrapOfATaskThatChanges(t *testing.T) {
	w := newWorld(t)
	w.mustApply(statefulSet(threeWithData))
	w.fills("1", nil)
	w.before = func() { w.fills("1", func(task *api.Task) { task.Desired = api.DesiredRemoved }) }
	_, err := w.service.Rebootstrap(t.Context(), TargetOf(dbRef), 1, "me")
	wantReason(t, err, Busy)
}

func TestADeploymentHasNoOrdinals(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1"}`))
	_, err := w.service.Rebootstrap(t.Context(), TargetOf(ref("prod", "web")), 0, "me")
	wantReason(t, err, Invalid)
}

// Ordinals are frozen by their number, with a task or without; scaling down and up again doesn't thaw one.
func TestFreezeOrdinals(t *testing.T) {
	w := newWorld(t)
	w.mustApply(statefulSet(threeWithData))
	got, err := w.service.Freeze(t.Context(), TargetOf(dbRef), []string{"2"}, "me")
	if err != nil || !slices.Equal(got.Pods, []string{"prod-db.2"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = w.service.Freeze(t.Context(), TargetOf(dbRef), []string{"3"}, "me")
	wantReason(t, err, NotFound)
	_, err = w.service.Freeze(t.Context(), TargetOf(dbRef), []string{"01"}, "me")
	wantReason(t, err, Invalid)
	for _, replicas := range []int{1, 3} {
		if _, err := w.service.Scale(t.Context(), TargetOf(dbRef), replicas, FieldManager{}); err != nil {
			t.Fatal(err)
		}
	}
	if marks := w.snapshot().Frozen(dbRef); len(marks) != 1 || marks[0].Value.Slot != "2" {
		t.Errorf("after scaling away and back: %+v", marks)
	}
	if got, err = w.service.Freeze(t.Context(), TargetOf(dbRef), nil, "me"); err != nil || len(got.Pods) != 3 {
		t.Errorf("all of it: %+v, %v", got, err)
	}
}

// A delete names the volumes that stay, those of ordinals beyond the replicas too.
func TestDeleteNamesTheVolumesThatStay(t *testing.T) {
	w := newWorld(t)
	w.mustApply(statefulSet(`{"image":"db:1","replicas":1,"volume_claims":[{"name":"data","mount_path":"/data"}]}`))
	w.fills("1", nil) // on its way down
	got, err := w.service.Delete(t.Context(), TargetOf(dbRef), "me")
	if err != nil || !slices.Equal(got.Volumes, []string{"tend-prod-db-data-0", "tend-prod-db-data-1"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPortsOfBothKindsClash(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:1","ports":["5432:80"]}`))
	_, err := w.apply(ApplyOptions{}, statefulSet(`{"image":"db:1","ports":["5432:5432"]}`))
	wantReason(t, err, PortTaken)
	_, err = w.apply(ApplyOptions{}, statefulSet(`{"image":"db:1","replicas":2,"ports":["5433:5432"]}`))
	wantReason(t, err, Invalid)
}

func TestANameHasOneKind(t *testing.T) {
	w := newWorld(t)
	w.mustApply(statefulSet(threeWithData))
	_, err := w.apply(ApplyOptions{}, deployment("prod", "db", `{"image":"web:1"}`))
	wantReason(t, err, NameTaken)
}
