package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// held is a client that accepts nothing until open is closed, and closes waits when it is first asked to. It sends each
// line that it gets.
type held struct {
	once        sync.Once
	waits, open chan struct{}
	lines       chan string
}

func (h *held) Header() http.Header { return http.Header{} }

func (h *held) WriteHeader(int) {}

func (h *held) FlushError() error {
	h.once.Do(func() { close(h.waits) })
	<-h.open
	return nil
}

func (h *held) Write(text []byte) (int, error) {
	var line api.LogLine
	if json.Unmarshal(text, &line) == nil {
		h.lines <- line.Pod + " " + line.Text
	}
	return len(text), nil
}

// oneLiner is a node whose containers have one line each, their id.
type oneLiner struct{ nodeapi.Node }

func (oneLiner) Logs(_ context.Context, id string, _ container.LogOptions) (container.LogReader, error) {
	return &saysOnce{text: id}, nil
}

type saysOnce struct {
	text string
	said bool
}

func (s *saysOnce) Next() (container.LogLine, error) {
	if s.said {
		return container.LogLine{}, context.Canceled
	}
	s.said = true
	return container.LogLine{Text: s.text}, nil
}

func (s *saysOnce) Close() error { return nil }

// TestALogFollowedBehindGoesOn: a reader so slow that the changes of the store pass it by misses no pod, and its stream
// doesn't end before the object is gone.
func TestALogFollowedBehindGoesOn(t *testing.T) {
	stored := memory.New()
	v := view.New(stored, view.Options{Decode: records.Decode, Indexes: records.Indexes,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { _ = v.Run(ctx) })
	defer func() { cancel(); wait.Wait(); stored.Close() }()
	<-v.Synced()
	commit := func(txn *records.Txn) {
		revision, err := txn.Commit(ctx, stored)
		if err == nil {
			err = v.WaitFor(ctx, revision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	pod := func(id string) *records.Txn {
		task := api.Task{ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: id, Node: "n1",
			Desired: api.DesiredRunning}
		return records.NewTxn("test").Put(records.TaskKey(id), task).Put(records.TaskStatusKey(id),
			api.TaskStatus{ID: id, State: api.TaskRunning, StartedAt: task.CreatedAt.AddDate(2026, 0, 0)})
	}
	commit(records.NewTxn("test").Put(records.ObjectKey(web), api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name}))
	commit(pod("a"))
	nodes := &nodeapi.Fleet{}
	nodes.Add("n1", oneLiner{})
	s := &Server{Options: Options{View: v, Nodes: nodes}}
	client := &held{waits: make(chan struct{}), open: make(chan struct{}), lines: make(chan string)}
	ended := make(chan error, 1)
	wait.Go(func() {
		ended <- s.followLogs(ctx, newLines(client, &http.Request{}), logsOf{owner: web,
			opts: container.LogOptions{Follow: true}})
	})
	<-client.waits
	for i := range 1100 { // more than a watch keeps for its reader
		commit(records.NewTxn("test").Put(records.TaskStatusKey("x"), api.TaskStatus{ID: fmt.Sprint(i)}))
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-client.lines:
			if !strings.HasSuffix(got, want) {
				t.Fatalf("%q, want %q", got, want)
			}
		case err := <-ended:
			t.Fatalf("it ended before %q: %v", want, err)
		}
	}
	close(client.open)
	next(" a")
	commit(pod("b"))
	next(" b")
	commit(records.NewTxn("test").Delete(records.TaskKey("a")).Delete(records.TaskKey("b")).Delete(records.ObjectKey(web)))
	for {
		select {
		case <-client.lines: // the readers began again before the end
		case err := <-ended:
			if err != nil {
				t.Errorf("it ends with %v", err)
			}
			return
		}
	}
}
