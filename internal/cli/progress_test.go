package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

var written = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func podAt(slot string, created time.Time, state api.TaskState) api.Pod {
	return api.Pod{Name: "prod-web." + slot, Release: "v2", State: state, Desired: api.DesiredRunning,
		Ready: state == api.TaskRunning, CreatedAt: created}
}

func outcomeOf(o api.OutcomeState, reason, message string, pods ...api.Pod) []seen {
	return []seen{{asked, api.Outcome{State: o, Reason: reason, Message: message, UpdatedAt: written, Pods: pods}}}
}

// TestLines: one line for every change, none for what stays, none for what existed before.
func TestLines(t *testing.T) {
	var out strings.Builder
	l := newLines(&out)
	old, fresh := podAt("old", written.Add(-time.Hour), api.TaskRunning),
		podAt("new", written.Add(time.Second), api.TaskStarting)
	stopping, running := old, podAt("new", fresh.CreatedAt, api.TaskRunning)
	stopping.Desired = api.DesiredShutdown

	l.update(outcomeOf(api.OutcomePending, "Unseen", "waiting for the server to begin", old))
	l.update(outcomeOf(api.OutcomePending, "Progressing", "0 of 1", old, fresh))
	l.update(outcomeOf(api.OutcomePending, "Progressing", "1 of 1", old, fresh))
	l.away("unix:///x")
	l.away("unix:///x")
	l.update(outcomeOf(api.OutcomePending, "Progressing", "1 of 1", stopping, running))
	over := stopping
	over.State = api.TaskShutdown
	l.update(outcomeOf(api.OutcomePending, "Progressing", "1 of 1", over, running))
	l.update(outcomeOf(api.OutcomePending, "Progressing", "1 of 1", stopping, running)) // its node has forgotten it
	l.update(outcomeOf(api.OutcomeConverged, "Converged", "1 of 1 replicas run v2", running))
	want := `  prod-web.new v2 starting
deployment/prod/web: 0 of 1
the server at unix:///x does not answer; waiting for it
the server answers again
  prod-web.old v2 stopping
  prod-web.new v2 running
  prod-web.old v2 shutdown
deployment/prod/web: 1 of 1 replicas run v2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestEachFactOnce: what one line says of an object, no other line says again, in a pipe or on a terminal.
func TestEachFactOnce(t *testing.T) {
	const done = "3 of 3 replicas run v2"
	served := "http://web.example.org is served by 2 of 2 pods of web"
	type change struct {
		state           api.OutcomeState
		reason, message string
	}
	for name, tc := range map[string]struct {
		reason   string
		answered bool
		changes  []change
		want     string
	}{
		"pods that end": {"the last line says that it is done", false, []change{
			{api.OutcomePending, "Progressing", "2 of 3"}, {api.OutcomePending, api.ReasonConverged, done},
			{api.OutcomeConverged, api.ReasonConverged, done}}, "2 of 3|" + done},
		"same words": {"another reason alone says nothing new", false, []change{
			{api.OutcomePending, "Progressing", "2 of 3"}, {api.OutcomePending, "Waiting", "2 of 3"}}, "2 of 3"},
		"served, answered": {"its URL is printed on stdout", true, []change{
			{api.OutcomeConverged, api.ReasonServed, served}}, ""},
		"served": {"a verb prints no URL", false, []change{{api.OutcomeConverged, api.ReasonServed, served}}, served},
		"held, answered": {"no URL is printed for it", true, []change{
			{api.OutcomeConverged, api.ReasonPaused, "requests wait"}}, "requests wait"},
		"stored": {"`created` says it", false, []change{{api.OutcomeConverged, "Registered", "registered"}}, ""},
		"stored, after a wait": {"that it is over", false, []change{{api.OutcomePending, "PullingImage", "pulling"},
			{api.OutcomeConverged, "Registered", "registered"}}, "pulling|registered"},
	} {
		var out strings.Builder
		l := newLines(&out)
		for _, c := range tc.changes {
			all := outcomeOf(c.state, c.reason, c.message)
			all[0].answered = tc.answered
			l.update(all)
			if rows := (&block{out: &out}).rows(all[0]); tc.want == "" && tc.answered && strings.Contains(rows[0], c.message) {
				t.Errorf("%s: %s: the block says %q", name, tc.reason, rows)
			}
		}
		got := strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", "|")
		if got = strings.ReplaceAll(got, asked.Ref.String()+": ", ""); got != tc.want {
			t.Errorf("%s: %s: it says %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestLinesEnd: what is tried again for days takes a bounded number of lines, and those of many pods are all there.
func TestLinesEnd(t *testing.T) {
	var out strings.Builder
	l := newLines(&out)
	for attempt := range 1000 {
		pod := podAt(fmt.Sprint("try", attempt), written.Add(time.Duration(attempt)*time.Second), api.TaskStarting)
		l.update(outcomeOf(api.OutcomePending, "Progressing", "0 of 1", pod))
		pod.State, pod.Reason, pod.Message = api.TaskRejected, "ImageNotFound", fmt.Sprint("attempt ", attempt)
		l.update(outcomeOf(api.OutcomePending, "ImageNotFound", fmt.Sprintf("attempt %d failed", attempt), pod))
	}
	if n := strings.Count(out.String(), "\n"); n > 20 || !strings.Contains(out.String(), "more of the same is not shown") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	out.Reset()
	l = newLines(&out)
	var old, pods []api.Pod
	for i := range 50 {
		old = append(old, podAt(fmt.Sprint("old", i), written.Add(-time.Hour), api.TaskRunning))
		old[i].Release = "v1"
	}
	l.update(outcomeOf(api.OutcomePending, "Progressing", "0 of 50", old...))
	for i := range 50 {
		pods = append(pods, podAt(fmt.Sprint("new", i), written.Add(time.Second), api.TaskStarting))
		old[i].Desired = api.DesiredShutdown
		l.update(outcomeOf(api.OutcomePending, "Progressing", "0 of 50", append(slices.Clone(pods), old...)...))
	}
	if n := strings.Count(out.String(), "v1 stopping\n"); n != 50 {
		t.Errorf("%d of 50 old pods are shown", n)
	}
	if n := strings.Count(out.String(), "v2 starting\n"); n != 50 {
		t.Errorf("%d of 50 new pods are shown", n)
	}
}

// TestBlockTimedOut: the last drawing leaves the cause to the error below it.
func TestBlockTimedOut(t *testing.T) {
	var out strings.Builder
	b := &block{out: &out}
	b.update(outcomeOf(api.OutcomePending, "DiskFull", "0 of 1: no disk", podAt("new", written, api.TaskPreparing)))
	out.Reset()
	b.timedOut()
	if text := out.String(); !strings.Contains(text, " deployment/prod/web  DiskFull") || strings.Contains(text, "no disk") ||
		strings.Contains(text, "prod-web.new") {
		t.Errorf("it draws %q", text)
	}
}

// TestBlock: it draws over what it drew, writes nothing if nothing changed, and fits its screen.
func TestBlock(t *testing.T) {
	var out strings.Builder
	b := &block{out: &out}
	b.update(outcomeOf(api.OutcomePending, "Progressing", "0 of 1", podAt("new", written, api.TaskStarting)))
	if text := out.String(); !strings.Contains(text, "deployment/prod/web  0 of 1") ||
		!strings.Contains(text, "prod-web.new") || strings.Contains(text, "\x1b[2A") {
		t.Errorf("the first drawing: %q", text)
	}
	out.Reset()
	b.update(outcomeOf(api.OutcomePending, "Progressing", "0 of 1", podAt("new", written, api.TaskStarting)))
	if out.Len() != 0 {
		t.Errorf("nothing changed, yet it wrote %q", out.String())
	}
	b.update(outcomeOf(api.OutcomeConverged, "Converged", "1 of 1", podAt("new", written, api.TaskRunning)))
	if text := out.String(); !strings.HasPrefix(text, "\x1b[2A\r✓ deployment/prod/web  1 of 1") ||
		strings.Contains(text, "prod-web.new") {
		t.Errorf("the last drawing: %q", text)
	}
	out.Reset()
	many := make([]api.Pod, 60)
	for i := range many {
		many[i] = podAt("x", written, api.TaskStarting)
	}
	b.update(outcomeOf(api.OutcomePending, "Progressing", strings.Repeat("long ", 20), many...))
	rows := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(rows) > usualHeight || len([]rune(rows[0])) > usualWidth+10 || !strings.Contains(out.String(), "and 40 more") {
		t.Errorf("%d rows, the first %q", len(rows), rows[0])
	}
}

func TestPodState(t *testing.T) {
	seven := 7
	cases := map[string]struct {
		reason string
		pod    api.Pod
		want   string
	}{
		"Running": {"all is well", api.Pod{State: api.TaskRunning, Desired: api.DesiredRunning, Ready: true}, "running"},
		"Waiting": {"why it isn't ready yet",
			api.Pod{State: api.TaskPreparing, Desired: api.DesiredRunning, Reason: "Pulling"}, "preparing (Pulling)"},
		"Stopping": {"not wanted any more",
			api.Pod{State: api.TaskRunning, Desired: api.DesiredShutdown, Ready: true}, "stopping"},
		"Shutdown": {"ended as asked",
			api.Pod{State: api.TaskShutdown, Desired: api.DesiredShutdown, Reason: "Shutdown"}, "shutdown"},
		"CrashLoop": {"its last exit",
			api.Pod{State: api.TaskRunning, Desired: api.DesiredRunning, CrashLoop: true, ExitCode: &seven},
			"crash loop (exit 7)"},
		"Failed": {"a pod that ended loops no more",
			api.Pod{State: api.TaskFailed, Desired: api.DesiredShutdown, CrashLoop: true, ExitCode: &seven}, "failed (exit 7)"},
		"Memory": {"the kernel's kill",
			api.Pod{State: api.TaskFailed, Desired: api.DesiredRunning, OOMKilled: true, ExitCode: &seven},
			"failed (OOMKilled)"},
		"Rejected": {"could not be started",
			api.Pod{State: api.TaskRejected, Desired: api.DesiredRunning, Reason: "PortTaken"}, "rejected (PortTaken)"},
		"Freezing": {"stopped on purpose, not yet down",
			api.Pod{State: api.TaskRunning, Desired: api.DesiredShutdown, Frozen: true}, "stopping (frozen)"},
		"Frozen": {"stopped on purpose",
			api.Pod{State: api.TaskShutdown, Desired: api.DesiredShutdown, Frozen: true}, "stopped (frozen)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := podState(tc.pod); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
