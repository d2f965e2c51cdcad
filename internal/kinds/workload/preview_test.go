package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// preview returns the dry run of a spec, as counts of verbs.
func (l *harness) preview(spec api.DeploymentSpec) map[string]int {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Metadata: api.Metadata{Generation: 1}}
	if stored := l.snapshot().Object(web); stored.Exists() {
		object = *stored.Value
		if string(object.Spec) != string(raw) {
			object.Metadata.Generation++
		}
	}
	object.Spec = raw
	actions, err := l.c.Preview(l.snapshot(), object)
	if err != nil {
		l.Fatal(err)
	}
	out := map[string]int{}
	for _, action := range actions {
		if action.Text == "" || action.Object != web {
			l.Fatalf("an action without words or owner: %+v", action)
		}
		out[action.Verb]++
	}
	return out
}

// done counts what the commits since did, in the same verbs.
func (l *harness) done(since int) map[string]int {
	out := map[string]int{}
	for _, txn := range l.commits[since:] {
		for _, op := range txn.Do {
			switch {
			case op.Delete:
			case strings.HasPrefix(op.Key, records.ReleasesPrefix):
				out["mint"]++
			case strings.HasPrefix(op.Key, records.TasksPrefix):
				var task api.Task
				if err := json.Unmarshal(op.Value, &task); err != nil {
					l.Fatal(err)
				}
				switch task.Desired {
				case api.DesiredRunning:
					out["create"]++
				case api.DesiredShutdown:
					out["shutdown"]++
				}
			}
		}
	}
	return out
}

// The dry run shows what happens, if the agent does its work. Resolving an image is the agent's action, not a commit's.
func TestPreviewIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := newHarness(t)
		history := ""
		for range rapid.IntRange(1, 4).Draw(r, "applies") {
			n := rapid.IntRange(0, 6).Draw(r, "replicas")
			image := rapid.SampledFrom([]string{"web:1", "web:2"}).Draw(r, "image")
			spec := replicas(n, image)
			spec.Strategy.Order = rapid.SampledFrom([]string{"", api.OrderStopFirst, api.OrderStartFirst}).Draw(r,
				"order")
			spec.Strategy.MaxParallel = rapid.IntRange(1, 3).Draw(r, "parallel")
			spec.Command = []string{rapid.SampledFrom([]string{"a", "b"}).Draw(r, "command")}
			history += fmt.Sprintf("%d of %s %v %s\n", n, image, spec.Command, spec.Strategy.Order)
			said := l.preview(spec)
			delete(said, "resolve")
			delete(said, "risk") // nothing is done for it
			since := len(l.commits)
			l.apply(spec)
			l.settle()
			if diff := cmp.Diff(said, l.done(since)); diff != "" {
				r.Fatalf("after\n%swas said (-), was done (+):\n%s", history, diff)
			}
			if again := l.preview(spec); len(again) > 0 {
				r.Fatalf("after\n%sit is up to date, and a preview says %v", history, again)
			}
		}
	})
}

func TestPreviewWritesNothing(t *testing.T) {
	l := newHarness(t)
	said := l.preview(replicas(3, "web:1"))
	if want := map[string]int{"resolve": 1, "mint": 1, "create": 3}; !maps.Equal(said, want) {
		t.Errorf("it said %v, want %v", said, want)
	}
	if len(l.everything()) != 0 || len(l.commits) != 0 {
		t.Errorf("it wrote %v", l.everything())
	}
}

// A forced apply resolves the image again; the dry run doesn't claim that it has moved.
func TestPreviewOfAForcedApply(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.settle()
	object := stamped(*l.snapshot().Object(web).Value, api.StampPull, "again")
	actions, err := l.c.Preview(l.snapshot(), object)
	if err != nil || len(actions) != 1 || actions[0].Verb != "resolve" {
		t.Errorf("%+v, %v", actions, err)
	}
}

func TestPreviewOfDeletion(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.settle()
	object := *l.snapshot().Object(web).Value
	object.Metadata.DeletedAt = &l.now
	actions, err := l.c.Preview(l.snapshot(), object)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range actions {
		if action.Verb != "shutdown" {
			t.Errorf("%+v", action)
		}
	}
	if len(actions) != 2 {
		t.Errorf("%d actions for 2 slots", len(actions))
	}
}

func TestPreviewOfAnUnreadableSpec(t *testing.T) {
	l := newHarness(t)
	_, err := l.c.Preview(l.snapshot(), api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name,
		Spec: json.RawMessage(`7`)})
	if err == nil || !strings.Contains(err.Error(), "deployment/prod/web") {
		t.Errorf("%v", err)
	}
}
