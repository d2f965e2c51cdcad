package local

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// openly decrypts what is not encrypted.
type openly struct{}

func (openly) Decrypt(sealed []byte) ([]byte, error) { return bytes.Clone(sealed), nil }

// TestNoEnvironmentOutlivesItsRelease: of objects that come and go, nothing decrypted is kept.
func TestNoEnvironmentOutlivesItsRelease(t *testing.T) {
	s := memory.New()
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	service := New(Options{Store: s, View: v, Keys: openly{}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	defer func() { cancel(); <-ended; _ = s.Close() }()
	commit := func(txn *records.Txn) {
		t.Helper()
		revision, err := txn.Commit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.WaitFor(t.Context(), revision); err != nil {
			t.Fatal(err)
		}
	}
	gone := make(chan string, 200)
	v.OnChange(func(change view.Change) { // after the service has learned of it
		if _, release := change.Old.(*api.Release); release && change.Deleted {
			gone <- change.Key
		}
	})
	node := service.Node("n1")
	for i := range 100 {
		id := fmt.Sprint("t", i)
		task := api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web-" + id, Slot: id, Release: "v1",
			Class: api.ClassKeep, Node: "n1",
			Desired: api.DesiredRunning}
		key := records.ReleaseKey(task.Owner(), "v1")
		release := api.Release{ID: "v1", Kind: task.Kind, Scope: task.Scope, Name: task.Name,
			Spec: []byte(`{"image":"web:1"}`), Env: []byte(`{"A":"` + id + `"}`)}
		commit(records.NewTxn("test").CreateTask(task).Put(key, release))
		if got, err := node.Release(t.Context(), task); err != nil || got.Env["A"] != id {
			t.Fatalf("%v, %v", got.Env, err)
		}
		if len(service.environments.known) == 0 {
			t.Fatal("none is kept of a release that is there")
		}
		commit(records.NewTxn("test").Delete(key).Delete(records.TaskKey(id)))
		<-gone
	}
	service.environments.mu.Lock()
	defer service.environments.mu.Unlock()
	if got := len(service.environments.known); got > 0 {
		t.Errorf("%d environments are kept", got)
	}
}
