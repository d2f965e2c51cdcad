package daemon

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// TestCommitsUntilAContainerRuns counts from outside the commits between an apply and a running container whose image
// its node has: the node is asked before the apply is stored, and the first step makes the release, its tasks and their
// places. The next commit is the node's first report of the container.
func TestCommitsUntilAContainerRuns(t *testing.T) {
	for kind, most := range map[api.Kind]int{
		api.KindDeployment: 2, api.KindStatefulSet: 2, api.KindLab: 2, api.KindJob: 2,
	} {
		t.Run(string(kind), func(t *testing.T) {
			seen := commitsOf(t, kind, func(m *machine) { m.engine.AddImage("web:1") })
			if reported := firstReport(seen); reported > most {
				t.Errorf("%d commits before the first report of a container, want %d at most: %q", reported, most, seen)
			}
			if len(seen) < 2 || seen[0] != "object" || !strings.HasPrefix(seen[1], "answer request release placed") {
				t.Errorf("the release and the places of its tasks are not the first commit after the apply: %q", seen)
			}
			if again := strings.Count(strings.Join(seen, " "), "answer"); again != 1 {
				t.Errorf("the node's answer was stored %d times", again)
			}
		})
	}
}

// TestCommitsUntilAPulledContainerRuns counts the same where the image is pulled first: the request and the answer are
// commits of their own.
func TestCommitsUntilAPulledContainerRuns(t *testing.T) {
	for kind, most := range map[api.Kind]int{
		api.KindDeployment: 4, api.KindStatefulSet: 4, api.KindLab: 4, api.KindJob: 4,
	} {
		t.Run(string(kind), func(t *testing.T) {
			seen := commitsOf(t, kind, func(m *machine) { m.engine.PublishImage("web:1") })
			if reported := firstReport(seen); reported > most {
				t.Errorf("%d commits before the first report of a container, want %d at most: %q", reported, most, seen)
			}
		})
	}
}

func firstReport(seen []string) int {
	return slices.IndexFunc(seen, func(commit string) bool { return strings.Contains(commit, "report:") })
}

// commitsOf applies an object of the kind, and returns the commits about it until its container runs, without those
// that nothing waits for: a status alone, and the progress of a pull.
func commitsOf(t *testing.T, kind api.Kind, prepare func(*machine)) (seen []string) {
	t.Helper()
	m := newMachine(t)
	prepare(m)
	r := m.startWith(func(*Options) {}).ready()
	r.until("its node can be asked for an image", func() bool {
		nodes, err := r.client.Nodes(t.Context())
		return err == nil && len(nodes.Items) == 1 && nodes.Items[0].Alive && nodes.Items[0].Ready
	})
	object := manifestOf(api.Ref{Kind: kind, Scope: "prod", Name: "web"}, nil)
	switch kind {
	case api.KindLab:
		object.Spec = json.RawMessage(`{"image":"web:1","duration":"1h","owner":"ada@example.org"}`)
	case api.KindJob:
		object.Spec = json.RawMessage(`{"image":"web:1","run_on_release":true}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watch := m.store.Watch(ctx, "", 0)
	r.apply(object)
	for !slices.ContainsFunc(seen, func(commit string) bool { return strings.Contains(commit, "report:running") }) {
		batch, open := <-watch.Batches()
		if !open {
			t.Fatalf("no container runs after %q: %v", seen, watch.Err())
		}
		what := readCommit(t, batch.Events, object.Ref())
		if what != "" && what != "status" && what != "progress" {
			seen = append(seen, what)
		}
	}
	t.Logf("%q", seen)
	return seen
}

// readCommit names the records of an object that a commit stores: each kind once, in the order of a life.
func readCommit(t *testing.T, events []store.Event, of api.Ref) string {
	t.Helper()
	var words []string
	for _, event := range events {
		for _, record := range []struct{ prefix, word string }{
			{records.ObjectKey(of), "object"}, {records.ImageKey(of), "request"},
			{records.ImageStatusKey("n1", of), "answer"}, {records.ReleasePrefix(of), "release"},
			{records.RunSetPrefix(of), "run"}, {records.StatusKey(of), "status"},
			{records.TasksPrefix, "task"}, {records.ActualTasksPrefix, "task"},
		} {
			if !strings.HasPrefix(event.Key, record.prefix) || slices.Contains(words, record.word) {
				continue
			}
			decoded, err := records.Decode(event.Key, event.Value)
			if err != nil {
				t.Fatal(err)
			}
			switch value := decoded.(type) {
			case *api.Task:
				if value.Node != "" {
					record.word = "placed"
				}
			case *api.TaskStatus:
				record.word = "report:" + string(value.State)
			case *api.ImageStatus:
				if value.State == api.ImagePulling {
					record.word = "progress"
				}
			}
			words = append(words, record.word)
		}
	}
	return strings.Join(words, " ")
}
