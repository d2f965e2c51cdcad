package agent_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// ordinal stores a release of a statefulset with a claim, and its task of an ordinal.
func (l *harness) ordinal(id, slot string) api.Task {
	l.t.Helper()
	task := api.Task{
		ID: id, Kind: api.KindStatefulSet, Scope: "shop", Name: "db", Slot: slot, Release: "v-" + id, Class: api.ClassKeep,
		Node: nodeID, Desired: api.DesiredRunning, CreatedAt: time.Now(),
	}
	spec := api.StatefulSetSpec{
		DeploymentSpec: api.DeploymentSpec{Container: api.Container{Image: image}},
		VolumeClaims:   []api.VolumeClaim{{Name: "data", MountPath: "/data"}},
	}
	raw, _ := json.Marshal(spec)
	release := api.Release{
		ID: task.Release, Kind: task.Kind, Scope: task.Scope, Name: task.Name, Spec: raw, Image: spec.Image,
		ImageID: l.imageID, Env: []byte(l.env),
	}
	l.commit(records.NewTxn("test").Put(records.ReleaseKey(task.Owner(), release.ID), release).CreateTask(task))
	return task
}

func (l *harness) wipe(task api.Task) {
	l.t.Helper()
	read := l.snapshot().Task(task.ID)
	wiped := *read.Value
	wiped.Wipe = true
	read.Value = &wiped
	l.commit(records.NewTxn("test").RaiseTask(read, api.DesiredRemoved, "test", time.Now()))
	l.settle()
}

func TestAnOrdinalHasItsNamesAndVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.ordinal(taskID(1), "2")
		l.settle()
		made := l.engine.Spec(l.wantContainer(task, runtime.StateRunning).Name)
		wantAliases := []string{"db-2.shop", "db-2.shop.tend", "db-2.shop.voodu", "db.shop", "db.shop.tend", "db.shop.voodu"}
		if !slices.Equal(made.Aliases, wantAliases) {
			t.Errorf("aliases %v, want %v", made.Aliases, wantAliases)
		}
		for _, name := range []string{"TEND_REPLICA_ORDINAL", "TEND_REPLICA_ID", "VOODU_REPLICA_ORDINAL",
			"VOODU_REPLICA_ID"} {
			if made.Env[name] != "2" {
				t.Errorf("%s is %q", name, made.Env[name])
			}
		}
		if !slices.Equal(made.Spec.Volumes, []string{"tend-shop-db-data-2:/data"}) {
			t.Errorf("mounts %v", made.Spec.Volumes)
		}
		labels := l.engine.Volumes()["tend-shop-db-data-2"]
		if labels[api.LabelClaim] != "data" || labels[api.LabelOrdinal] != "2" || labels[api.LabelScope] != "shop" {
			t.Errorf("the volume's labels are %v", labels)
		}
	})
}

// A removal keeps the volume; one with a wipe removes it, before the task is forgotten.
func TestOnlyAWipeTakesTheVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		kept, wiped := l.ordinal(taskID(1), "0"), l.ordinal(taskID(2), "1")
		l.settle()
		l.raise(kept, api.DesiredRemoved)
		l.wipe(wiped)
		l.wantContainer(kept, "")
		l.wantContainer(wiped, "")
		if there := slices.Collect(maps.Keys(l.engine.Volumes())); !slices.Equal(there, []string{"tend-shop-db-data-0"}) {
			t.Errorf("volumes %v are there", there)
		}
		if l.status(wiped).ID != "" {
			t.Errorf("the task is not forgotten: %+v", l.status(wiped))
		}
	})
}

// A wipe takes the volumes of further ordinals that it names, and no others.
func TestAWipeTakesWhatOrdinalsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		var left []api.Task
		for i, slot := range []string{"0", "1", "2", "3"} {
			left = append(left, l.ordinal(taskID(i+1), slot))
		}
		l.settle()
		for _, task := range left[1:] {
			l.raise(task, api.DesiredRemoved)
		}
		read := l.snapshot().Task(left[0].ID)
		wiped := *read.Value
		wiped.Wipe, wiped.WipeSlots, read.Value = true, "2,3", &wiped
		l.commit(records.NewTxn("test").RaiseTask(read, api.DesiredRemoved, "test", time.Now()))
		l.settle()
		if there := slices.Collect(maps.Keys(l.engine.Volumes())); !slices.Equal(there, []string{"tend-shop-db-data-1"}) {
			t.Errorf("volumes %v are there", there)
		}
	})
}

// A volume that can't be removed yet keeps its task, which reports that; it is removed when it can be.
func TestAWipeIsTriedUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.ordinal(taskID(1), "0")
		l.settle()
		l.engine.Before(func(verb, _ string) error {
			if verb == "removevolume" {
				return errors.New("volume is in use by container backup")
			}
			return nil
		})
		l.wipe(task)
		if status := l.status(task); status.ID == "" || status.Reason != "VolumeNotRemoved" ||
			!strings.Contains(status.Message, "backup") {
			t.Errorf("it does not say what holds the volume: %+v", status)
		}
		l.engine.Before(nil)
		l.pass(10 * time.Second)
		if len(l.engine.Volumes()) != 0 || l.status(task).ID != "" {
			t.Errorf("volumes %v, status %+v", l.engine.Volumes(), l.status(task))
		}
	})
}

// A wipe leaves the volume of another claim whose names join to the same text, says so once, and ends.
func TestAWipeLeavesWhatIsAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		task := l.ordinal(taskID(1), "0")
		l.settle()
		const volume = "tend-shop-db-data-0"
		l.engine.Volumes()[volume][api.LabelScope] = "shop-db" // it is that of a claim data of shop-db/…
		l.wipe(task)
		if status := l.status(task); status.Reason != api.ReasonVolumeTaken || !strings.Contains(status.Message, volume) {
			t.Errorf("it doesn't say what it left: %+v", status)
		}
		l.pass(time.Minute)
		if _, there := l.engine.Volumes()[volume]; !there || l.status(task).ID != "" {
			t.Errorf("volumes %v, status %+v", l.engine.Volumes(), l.status(task))
		}
	})
}
