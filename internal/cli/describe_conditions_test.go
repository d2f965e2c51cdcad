package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestLinesBehindACause: the last lines stand behind the cause, unless the section of the pods shows them.
func TestLinesBehindACause(t *testing.T) {
	degraded := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: api.ReasonRolledBack,
		Message: "v2 failed: it ended with 3\nno database\nno database"}
	failed := api.Pod{Message: "it ended with 3", LastLog: []string{"no database"}}
	well := failed
	well.Ready = true
	for name, c := range map[string]struct {
		pods []api.Pod
		want int
	}{
		"its pod is gone":    {nil, 1},
		"its pod is there":   {[]api.Pod{failed}, 0},
		"another pod serves": {[]api.Pod{well}, 1},
		"another cause":      {[]api.Pod{{Message: "no port", LastLog: []string{"x"}}}, 1},
	} {
		var out strings.Builder
		describeConditions(plain{&out}, []api.Condition{degraded}, c.pods, time.Now())
		if got := strings.Count(out.String(), "      | no database\n"); got != c.want {
			t.Errorf("%s: %d lines, want %d:\n%s", name, got, c.want, out.String())
		}
	}
}

// TestTitleOfTheSpec: after a rollback the manifest isn't what runs.
func TestTitleOfTheSpec(t *testing.T) {
	for title, r := range map[string]*api.RolloutStatus{
		"Spec": {TargetRelease: "v1"},
		"Spec, as declared; v1 runs": {TargetRelease: "v1", Phase: api.RolloutRolledBack,
			Failed: &api.FailedRollout{Release: "v2"}},
		"Spec, as declared; v1 comes back": {TargetRelease: "v1", Phase: api.RolloutRollingBack,
			Failed: &api.FailedRollout{Release: "v2"}},
	} {
		var out strings.Builder
		if err := describeSpec(plain{&out}, api.Object{Spec: []byte(`{"image":"web:1"}`)}, r); err != nil ||
			!strings.HasPrefix(out.String(), "\n"+title+"\n") {
			t.Errorf("%v: %q, want the title %q", err, out.String(), title)
		}
	}
}

// TestNeedsAreMerged: an object that needs another by several fields is named once.
func TestNeedsAreMerged(t *testing.T) {
	web, job := api.Ref{Kind: api.KindDeployment, Name: "web"}, api.Ref{Kind: api.KindJob, Name: "job"}
	got := merged([]api.Dependent{{Ref: web, Field: "depends_on"}, {Ref: job, Field: "env.DB"}, {Ref: web, Field: "env.DB"},
		{Ref: web, Field: "env.KEY", Config: "KEY"}})
	want := []api.Dependent{{Ref: web, Field: "depends_on, env.DB"}, {Ref: job, Field: "env.DB"},
		{Ref: web, Field: "env.KEY", Config: "KEY"}}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}
