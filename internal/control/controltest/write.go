package controltest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Write commits as another writer, and waits until the view shows it.
func (w *World) Write(fill func(*records.Txn)) {
	w.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	revision, err := txn.Commit(context.Background(), w.Store)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.View.WaitFor(context.Background(), revision); err != nil {
		w.Fatal(err)
	}
}

// SetNode makes a node, with a heartbeat or without one.
func (w *World) SetNode(id string, alive bool) {
	w.Helper()
	w.Write(func(txn *records.Txn) {
		txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: "hollow", Ready: true, CPUs: 64,
			MemoryBytes: 64 << 30})
		if alive {
			txn.Put(records.AliveKey(id), "now")
		} else {
			txn.Delete(records.AliveKey(id))
		}
	})
}

// Put stores objects of one spec as the API does, in one commit.
func (w *World) Put(spec any, refs ...api.Ref) {
	w.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		w.Fatal(err)
	}
	w.Write(func(txn *records.Txn) {
		for _, ref := range refs {
			object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}
			object.Metadata = api.Metadata{Finalizers: []string{api.FinalizerTasks},
				UID: fmt.Sprintf("uid-%s-%d", ref.Name, w.View.Revision())}
			if old := w.Snapshot().Object(ref); old.Exists() {
				object = *old.Value
			}
			object.Spec = raw
			object.Metadata.Generation++
			object.Metadata.UpdatedAt = time.Now().UTC()
			txn.Put(records.ObjectKey(ref), object).Put(records.NameKey(ref), ref)
		}
	})
}

// Delete asks for the end of an object as the API does.
func (w *World) Delete(ref api.Ref) {
	w.Helper()
	object := *w.Snapshot().Object(ref).Value
	now := time.Now().UTC()
	object.Metadata.DeletedAt = &now
	w.Write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), object) })
}

// Condition checks one of an object's conditions.
func (w *World) Condition(ref api.Ref, conditions []api.Condition, kind string, want api.ConditionStatus,
	reason string) {
	w.Helper()
	c := api.FindCondition(conditions, kind)
	if c == nil || c.Status != want || c.Reason != reason {
		w.Errorf("%s: condition %s is %+v; want %s, %s", ref, kind, c, want, reason)
	}
}

// ConfirmDown writes what `tend nodes confirm-down` does.
func (w *World) ConfirmDown(node string) {
	w.Helper()
	w.Write(func(txn *records.Txn) {
		for _, task := range w.Snapshot().TasksOn(node) {
			status := api.TaskStatus{ID: task.Value.ID, Node: node}
			if read := w.Snapshot().TaskStatus(status.ID); read.Exists() {
				status = *read.Value
			}
			if !status.State.Terminal() {
				status.State, status.Reason, status.FinishedAt = api.TaskFailed, api.ReasonNodeDown, time.Now().UTC()
				txn.Put(records.TaskStatusKey(status.ID), status)
			}
		}
	})
}
