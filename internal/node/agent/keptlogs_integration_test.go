//go:build integration

package agent_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/test/testimage"
)

// TestDockerKeepsTheLogOfARemovedContainer: of 30 MB of output, what is kept are the last lines, and they are few.
func TestDockerKeepsTheLogOfARemovedContainer(t *testing.T) {
	m := newMachine(t, "")
	m.kept = t.TempDir()
	m.start()
	defer func() { m.stop() }()
	task := m.deploy("no", testimage.Program, "print", "30000", "1000")
	m.until(task, "ended", func(s api.TaskStatus) bool { return s.State.Terminal() })
	object := api.Object{Kind: task.Kind, Scope: task.Scope, Name: task.Name, Spec: []byte(`{"image":"a"}`),
		Metadata: api.Metadata{UID: task.OwnerUID}}
	read := (records.Snapshot{Reader: m.view.Snapshot()}).Task(task.ID)
	txn := records.NewTxn("test").Put(records.ObjectKey(task.Owner()), object).RaiseTask(read, api.DesiredRemoved,
		"test", task.CreatedAt)
	if _, err := txn.Commit(t.Context(), m.store); err != nil {
		t.Fatal(err)
	}
	m.until(task, "forgotten", func(s api.TaskStatus) bool { return s.ID == "" })
	if left := m.docker("ps", "-aq", "--filter", "label="+api.LabelTask+"="+task.ID); left != "" {
		t.Errorf("the container %s is left", left)
	}
	kept, err := m.agent.KeptLogs(t.Context(), task.Owner())
	if err != nil || len(kept) != 1 || kept[0].Pod() != task.ContainerName() {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	reader, err := m.agent.KeptLog(t.Context(), kept[0].Container, runtime.LogOptions{Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	var last runtime.LogLine
	lines := 0
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last, lines = line, lines+1
	}
	// A busy machine may have time for the few lines alone. The engine orders what comes on two streams at once as it
	// likes.
	if lines < 500 || !strings.HasPrefix(last.Text, "line 30000") && !strings.HasPrefix(last.Text, "line 29999") {
		t.Errorf("%d lines, the last %.40q", lines, last.Text)
	}
	found, err := filepath.Glob(filepath.Join(m.kept, "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files: %v, %v", found, err)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Size() > 3<<20 {
		t.Errorf("%v bytes are kept, %v", info.Size(), err)
	}
}
