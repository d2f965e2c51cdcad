package local

import (
	"context"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestAReportToAServerThatIsBehind: a report about what this server hasn't read yet waits until it has. It is not left
// out, since the node sends nothing twice.
func TestAReportToAServerThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
		task := api.Task{ID: "t1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, OwnerUID: "u1",
			Slot: "s1", Release: "v1",
			Class: api.ClassKeep, Node: "n1", Desired: api.DesiredRunning}
		txn := records.NewTxn("test").Put(records.ImageKey(web),
			api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}).CreateTask(task)
		if _, err := txn.Commit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		c := New(Options{Store: s, View: v}).Node("n1")
		defer c.Close()
		answered := make(chan error, 1)
		go func() {
			answered <- c.Report(t.Context(), node.Report{
				Tasks: []api.TaskStatus{{ID: "t1", Node: "n1", State: api.TaskRunning}},
				Images: []api.ImageStatus{{Owner: web, OwnerUID: "u1", Node: "n1", Image: "web:1", State: api.ImagePresent,
					ImageID: "sha256:2"}},
			})
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = v.Run(ctx)
		}()
		if err := <-answered; err != nil {
			t.Error(err)
		}
		for _, key := range []string{records.TaskStatusKey("t1"), records.ImageStatusKey("n1", web)} {
			if _, err := s.Get(t.Context(), key); err != nil {
				t.Errorf("%s was reported, and is not stored: %v", key, err)
			}
		}
		cancel()
		<-ended
	})
}
