package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// keeping is a node that keeps logs. Each has one line: the container's name.
type keeping struct {
	nodeapi.Node
	logs []node.KeptLog
	err  error
	// unread are the errors of logs that can't be read, by their containers.
	unread map[string]error
}

func (k *keeping) KeptLogs(context.Context, api.Ref) ([]node.KeptLog, error) { return k.logs, k.err }

func (k *keeping) KeptLog(ctx context.Context, container string, _ runtime.LogOptions) (runtime.LogReader, error) {
	if err := k.unread[container]; err != nil {
		return nil, err
	}
	for _, log := range k.logs {
		if log.Container == container {
			said := runtime.LogLine{Stream: "stdout", At: log.KeptAt, Text: container}
			return &fakeReader{ctx: ctx, lines: []runtime.LogLine{said}}, nil
		}
	}
	return nil, runtime.ErrNotFound
}

// keepingWorld makes a world with a deployment and two nodes that keep logs.
func keepingWorld(t *testing.T) (*world, *keeping, *keeping) {
	first, second := &keeping{}, &keeping{}
	w := newWorld(t, func(o *server.Options) {
		nodes := &nodeapi.Fleet{}
		nodes.Add("n1", first)
		nodes.Add("n2", second)
		o.Nodes = nodes
	})
	for _, id := range []string{"n1", "n2"} {
		w.put(records.NodeKey(id), api.NodeStatus{ID: id, Ready: true})
	}
	w.apply("web", `{"image":"a"}`)
	return w, first, second
}

func (w *world) kept(container, slot string, second int) node.KeptLog {
	w.t.Helper()
	object, err := w.client.Object(w.t.Context(), ref("web"))
	if err != nil {
		w.t.Fatal(err)
	}
	return node.KeptLog{Container: container, Owner: ref("web"), OwnerUID: object.Metadata.UID, Slot: slot,
		KeptAt: line(second, "").At}
}

func (w *world) replacing(slot, before string) {
	task := w.running("web", slot, true)
	task.Replaces = before
	w.put(records.TaskKey(task.ID), task)
}

// TestPreviousLogs: for each pod, the output of the one that it replaced is found on its node.
func TestPreviousLogs(t *testing.T) {
	w, first, second := keepingWorld(t)
	first.logs = []node.KeptLog{w.kept("one", "old1", 1), w.kept("older", "older", 0)}
	second.logs = []node.KeptLog{w.kept("two", "old2", 2)}
	foreign := w.kept("foreign", "old1", 9)
	foreign.OwnerUID = "of another that had the name"
	liar := w.kept("liar", "old1", 9)
	liar.Owner = ref("api")
	second.logs = append(second.logs, foreign, liar)
	w.replacing("new1", "old1")
	w.replacing("new2", "old2")
	web := client.Target{Name: "web"}
	for name, tt := range map[string]struct {
		reason string
		opts   client.LogsOptions
		want   []string
	}{
		"object": {"what ran before each of its pods", client.LogsOptions{Target: web}, []string{"1 one", "2 two"}},
		"pod":    {"what ran before it", client.LogsOptions{Pod: "prod-web.new2"}, []string{"2 two"}},
		"gone": {"a pod that is gone is named by people who saw it", client.LogsOptions{Pod: "prod-web.older"},
			[]string{"r older"}},
		"by name": {"the replaced pod", client.LogsOptions{Pod: "prod-web.old1"}, []string{"1 one"}},
	} {
		tt.opts.Previous = true
		if diff := cmp.Diff(tt.want, allLines(t, w, tt.opts)); diff != "" {
			t.Errorf("%s: %s\n%s", name, tt.reason, diff)
		}
	}
}

// TestPreviousLogsOfAnOrdinal: the slot stays, and the newest container that filled it counts.
func TestPreviousLogsOfAnOrdinal(t *testing.T) {
	w, first, _ := keepingWorld(t)
	first.logs = []node.KeptLog{w.kept("second", "0", 2), w.kept("first", "0", 1), w.kept("other", "1", 3)}
	w.running("web", "0", true)
	if diff := cmp.Diff([]string{"0 second"},
		allLines(t, w, client.LogsOptions{Pod: "prod-web.0", Previous: true})); diff != "" {
		t.Error(diff)
	}
}

// TestPreviousLogsWithoutPods: of an object that has none now, the newest is shown.
func TestPreviousLogsWithoutPods(t *testing.T) {
	w, first, second := keepingWorld(t)
	first.logs = []node.KeptLog{w.kept("older", "a", 1)}
	second.logs = []node.KeptLog{w.kept("newest", "b", 2)}
	if diff := cmp.Diff([]string{"b newest"},
		allLines(t, w, client.LogsOptions{Target: client.Target{Name: "web"}, Previous: true})); diff != "" {
		t.Error(diff)
	}
}

// TestPreviousLogsOfACrash: while a release crashes, and once it was undone, its attempts are shown, and not the pods
// of the release before the last.
func TestPreviousLogsOfACrash(t *testing.T) {
	for name, tt := range map[string]struct {
		reason  string
		running map[string]string // the releases of pods
		want    []string
	}{
		"crashing": {"one pod crashes, the others run the last good release",
			map[string]string{"good1": "v9", "good2": "v9", "bad": "v10"}, []string{"c third"}},
		"all crash": {"as many attempts as there are pods",
			map[string]string{"bad1": "v10", "bad2": "v10"}, []string{"b second", "c third"}},
		"undone":   {"none of its pods runs", map[string]string{"good1": "v9", "good2": "v9"}, []string{"c third"}},
		"replaced": {"a newer release runs", map[string]string{"new": "v11"}, []string{"d other"}},
	} {
		w, first, second := keepingWorld(t)
		of := func(log node.KeptLog, release string) node.KeptLog { log.Release = release; return log }
		first.logs = []node.KeptLog{of(w.kept("first", "a", 1), "v10"), of(w.kept("third", "c", 4), "v10")}
		second.logs = []node.KeptLog{of(w.kept("second", "b", 3), "v10"), of(w.kept("other", "d", 2), "v8"),
			w.kept("of an older Tend", "e", 9)}
		for slot, release := range tt.running {
			task := w.running("web", slot, true)
			task.Release, task.Replaces = release, "d"
			w.put(records.TaskKey(task.ID), task)
		}
		opts := client.LogsOptions{Target: client.Target{Name: "web"}, Previous: true}
		if diff := cmp.Diff(tt.want, allLines(t, w, opts)); diff != "" {
			t.Errorf("%s: %s\n%s", name, tt.reason, diff)
		}
	}
}

// TestPreviousLogsOfAnAttempt: of a pod of a release that crashes, the attempt before it.
func TestPreviousLogsOfAnAttempt(t *testing.T) {
	w, first, _ := keepingWorld(t)
	attempt := w.kept("first", "a", 1)
	attempt.Release = "v1"
	first.logs = []node.KeptLog{attempt}
	w.running("web", "b", true)
	if diff := cmp.Diff([]string{"a first"},
		allLines(t, w, client.LogsOptions{Pod: "prod-web.b", Previous: true})); diff != "" {
		t.Error(diff)
	}
}

// TestPreviousLogsSayWhatIsMissing: a log that can't be read is a failure of its pod. Of a node that can't be asked it
// isn't known whether it keeps any.
func TestPreviousLogsSayWhatIsMissing(t *testing.T) {
	w, first, second := keepingWorld(t)
	first.logs = []node.KeptLog{w.kept("one", "old1", 1), w.kept("two", "old2", 2), w.kept("three", "old3", 3)}
	first.unread = map[string]error{"two": fmt.Errorf("n1: %w", runtime.ErrUnavailable), "three": runtime.ErrNotFound}
	second.err = node.ErrNotConnected
	for slot, before := range map[string]string{"new1": "old1", "new2": "old2", "new3": "old3"} {
		w.replacing(slot, before)
	}
	stream, err := w.client.Logs(t.Context(), client.LogsOptions{Target: client.Target{Name: "web"}, Previous: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var got []string
	for {
		line, err := stream.Next()
		if err != nil {
			break
		}
		status := 0
		if line.Error != nil {
			status = line.Error.Status
		}
		got = append(got, fmt.Sprintf("%s|%s|%d|%s", line.Pod, line.Text, status, line.Note))
	}
	want := []string{"||0|output of earlier pods may be missing: n2: the node is not connected", "prod-web.old2||503|",
		"prod-web.old1|one|0|"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNoPreviousLogs: the error reports that there are none, or the nodes that could not be asked.
func TestNoPreviousLogs(t *testing.T) {
	w, first, _ := keepingWorld(t)
	w.running("web", "0", true)
	read := func(opts client.LogsOptions) error {
		opts.Previous = true
		stream, err := w.client.Logs(t.Context(), opts)
		if err == nil {
			_ = stream.Close()
		}
		return err
	}
	for name, tt := range map[string]struct {
		opts   client.LogsOptions
		err    error
		status int
		says   string
	}{
		"none": {client.LogsOptions{Pod: "prod-web.0"}, nil, 404, "no output is kept from before the pod \"prod-web.0\""},
		"object": {client.LogsOptions{Target: client.Target{Name: "web"}}, nil, 404,
			"no output is kept from before deployment/prod/web"},
		"away": {client.LogsOptions{Pod: "prod-web.0"}, fmt.Errorf("n1: %w", node.ErrNotConnected), 503,
			"n1: the node is not connected"},
		"followed": {client.LogsOptions{Pod: "prod-web.0", Follow: true}, nil, 400, "can't be followed"},
		"unknown":  {client.LogsOptions{Pod: "prod-api.0"}, nil, 404, "there is no pod \"prod-api.0\""},
	} {
		first.err = tt.err
		if err := read(tt.opts); client.StatusOf(err) != tt.status || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%s: %v, want %d %s", name, err, tt.status, tt.says)
		}
	}
}
