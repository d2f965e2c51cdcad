package controlplane

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// TestTheDryRunIsTheRun: in random worlds, the dry run of an object that changes, is deleted or stays as it is begins with
// what the next reconcile does. What that does is read from its commit, and not from what it says of itself.
func TestTheDryRunIsTheRun(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newDryWorld(t)
		defer w.end()
		rt.Repeat(map[string]func(*rapid.T){
			"declare": func(rt *rapid.T) {
				object := w.object(rapid.SampledFrom(slices.Sorted(maps.Keys(dryKinds))).Draw(rt, "kind"))
				object.Spec = []byte(rapid.SampledFrom(dryKinds[object.Kind]).Draw(rt, "spec"))
				object.Metadata.Generation++
				w.compare(rt, object, seen)
			},
			"delete": func(rt *rapid.T) {
				if object, ok := w.some(rt); ok && object.Metadata.DeletedAt == nil {
					object.Metadata.DeletedAt = &w.now
					w.compare(rt, object, seen)
				}
			},
			"go on": func(rt *rapid.T) {
				for range rapid.IntRange(1, 6).Draw(rt, "steps") {
					if object, ok := w.some(rt); ok {
						w.compare(rt, object, seen)
					}
				}
			},
			"agent": w.agent,
			"ask":   w.ask,
			"time": func(rt *rapid.T) {
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(rt, "while"))
			},
		})
	})
	for _, verb := range []string{"resolve", "mint", "task-begins", "task-stops", "run-begins", "run-ends", "sent", "end-moves"} {
		if seen[verb] == 0 {
			t.Errorf("no world had this happen: %s (%v)", verb, seen)
		}
	}
}

// compare stores an object, reconciles it once, and compares what is done with what the dry run said before.
func (w *dryWorld) compare(rt *rapid.T, object api.Object, seen map[string]int) {
	ref := object.Ref()
	said, err := w.Preview(w.snapshot().With([]api.Object{object}), object)
	if err != nil {
		rt.Fatalf("the dry run of %s: %v", ref, err)
	}
	w.put(rt, records.ObjectKey(ref), object)
	before := w.snapshot()
	logged, wrote := w.reconcile(rt, ref)
	does := doneBy(before, wrote)
	for what, n := range does {
		seen[what] += n
	}
	shown := slices.DeleteFunc(slices.Clone(logged), func(text string) bool { return claimOf(text) == chore })
	all := texts(said)
	switch {
	case !ref.Kind.HasSlots():
		if len(all) < len(shown) || !slices.Equal(shown, all[:len(shown)]) {
			rt.Fatalf("%s: the dry run said %q, done was %q", ref, all, shown)
		}
	default: // its dry run is the whole rollout; TestPreviewIsWhatHappens compares that
		for _, text := range shown {
			if what := claimOf(text); (what == "resolve" || what == "mint") && !slices.Contains(all, text) {
				rt.Fatalf("%s: the dry run said %q, done was %q", ref, all, text)
			}
		}
	}
	claimed := map[string]int{}
	for _, text := range logged {
		if what := claimOf(text); what != chore {
			claimed[what]++
		}
	}
	if diff := cmp.Diff(does, claimed); diff != "" {
		rt.Fatalf("%s: what was done (-) and what was said of it (+) differ:\n%s\nsaid was %q", ref, diff, logged)
	}
}

func texts(actions []api.PlannedAction) (out []string) {
	for _, action := range actions {
		out = append(out, action.Text)
	}
	return out
}

// chore is what no dry run shows, and no record is written for.
const chore = "chore"

// claims are the words that actions begin with, and what they say is done.
var claims = []struct{ begin, what string }{
	{"forget ", chore}, {"prune ", chore}, {"count ", chore}, {"roll back", chore}, {"remove the container of", "task-stops"},
	{"resolve image", "resolve"}, {"make release", "mint"}, {"create run", "run-begins"}, {"finish run", "run-ends"},
	{"create ", "task-begins"}, {"start ", "task-begins"}, {"stop ", "task-stops"}, {"remove ", "task-stops"},
	{"apply ", "sent"}, {"delete it", "sent"}, {"restore ", "sent"}, {"cluster ", "sent"},
	{"end at", "end-moves"}, {"run *", "schedules"},
}

func claimOf(text string) string {
	for _, claim := range claims {
		if strings.HasPrefix(text, claim.begin) {
			return claim.what
		}
	}
	return "unknown: " + text
}

// doneBy counts what a commit does, by the records that it writes.
func doneBy(before records.Snapshot, wrote map[string]any) map[string]int {
	out := map[string]int{}
	for key, value := range wrote {
		switch is := value.(type) {
		case *api.ImageRequest:
			out["resolve"]++
		case *api.Release:
			if is.Kind.HasSlots() { // of others it comes with the task
				out["mint"]++
			}
		case *api.Task:
			if was := before.Task(is.ID); !was.Exists() {
				out["task-begins"]++
			} else if was.Value.Desired != is.Desired {
				out["task-stops"]++
			}
		case *api.Run:
			was := before.Run(is.Owner(), is.ID)
			if !was.Exists() {
				out["run-begins"]++
			}
			if is.State.Ended() && (!was.Exists() || !was.Value.State.Ended()) {
				out["run-ends"]++
			}
		case *api.ClusterJob:
			out["sent"]++
		case *api.LabStatus:
			was := before.LabStatus(statusOf(key)).Value
			if was != nil && was.Phase == api.LabRunning && !was.EndsAt.Equal(is.EndsAt) {
				out["end-moves"]++
			}
		case *api.JobStatus:
			if was := before.JobStatus(statusOf(key)).Value; is.ScheduleHash != "" && (was == nil || was.ScheduleHash != is.ScheduleHash) {
				out["schedules"]++
			}
		}
	}
	return out
}

func statusOf(key string) api.Ref {
	ref, _, _ := records.ParseRef(strings.TrimPrefix(key, records.StatusPrefix))
	return ref
}
