package local

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestTheNextHolderIsAsked: a node whose image broke off, or can't have been it, is asked again after the others; one
// of which nobody waited for the rest isn't passed over.
func TestTheNextHolderIsAsked(t *testing.T) {
	s := memory.New()
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	sends, asked := map[string]io.Reader{}, []string{}
	service := New(Options{Store: s, View: v, Keys: openly{},
		ImageOf: func(_ context.Context, on, _ string, _ node.Part) (io.ReadCloser, error) {
			asked = append(asked, on)
			return io.NopCloser(sends[on]), nil
		}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	defer func() { cancel(); <-ended; _ = s.Close() }()
	task := api.Task{ID: "a", Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: "1", Release: "v1", Node: "n1",
		Desired: api.DesiredRunning}
	release := api.Release{ID: "v1", Kind: task.Kind, Scope: task.Scope, Name: task.Name, ImageID: "sha256:1"}
	txn := records.NewTxn("test").Put(records.ReleaseKey(task.Owner(), "v1"), release).CreateTask(task)
	for _, id := range []string{"n2", "n3", "n4"} {
		txn.Put(records.AliveKey(id), id)
	}
	revision, err := txn.Commit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.WaitFor(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	n1 := service.Node("n1")
	fetch := func(ctx context.Context) {
		t.Helper()
		content, err := n1.ReleaseImage(ctx, task, node.Part{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, content)
		_ = content.Close()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	broken := iotest.ErrReader(errors.New("cut"))
	sends["n2"], sends["n3"], sends["n4"] = broken, strings.NewReader("another"), broken
	fetch(gone)
	for range 4 {
		fetch(t.Context())
	}
	if want := []string{"n2", "n2", "n3", "n4", "n2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}
