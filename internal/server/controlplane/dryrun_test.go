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
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/store/records"
)

// TestTheDryRunIsTheRun: in random worlds, the dry run of an object that changes, is deleted or stays begins with the
// actions of the next reconcile, and all its further actions happen unless a part fails. The test reads the actions
// from the commits, not from the log.
func TestTheDryRunIsTheRun(t *testing.T) {
	seen := map[string]int{}
	kinds := slices.Sorted(maps.Keys(dryKinds))
	rapid.Check(t, func(rt *rapid.T) {
		w := newDryWorld(t)
		defer w.end()
		for _, kind := range kinds {
			if rapid.Bool().Draw(rt, "begins with "+string(kind)) {
				object := w.object(kind)
				object.Spec = []byte(dryKinds[kind][0])
				w.compare(rt, object, seen)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"declare": func(rt *rapid.T) {
				object := w.object(rapid.SampledFrom(kinds).Draw(rt, "kind"))
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
			"": func(rt *rapid.T) { // after each action, the passes' caches must be right
				for _, c := range w.controllers {
					if shell, ok := c.(*control.Shell); ok && shell.Kind.Rests {
						controltest.Agrees(rt, shell, w.now)
					}
				}
			},
			"agent": w.agent,
			"ask":   w.ask,
			"time": func(rt *rapid.T) {
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour,
					-time.Minute}).Draw(rt, "while"))
			},
			"engine": func(rt *rapid.T) { w.engine(rt, rapid.IntRange(0, 3).Draw(rt, "away") > 0) },
		})
	})
	for _, verb := range []string{
		"resolve", "mint", "task-begins", "task-stops", "run-begins", "run-ends", "sent", "polls",
	} {
		if seen[verb] == 0 {
			t.Errorf("no world had this happen: %s (%v)", verb, seen)
		}
	}
}

// compare stores an object, reconciles it, and compares the actions with its earlier dry run.
func (w *dryWorld) compare(rt *rapid.T, object api.Object, seen map[string]int) {
	ref := object.Ref()
	found := w.finds(rt, object)
	said, err := w.Preview(w.snapshot().With([]api.Object{object}, found...), object)
	if err != nil {
		rt.Fatalf("the dry run of %s: %v", ref, err)
	}
	w.write(rt, func(txn *records.Txn) {
		txn.Put(records.ObjectKey(ref), object)
		for _, image := range found {
			txn.Put(records.FoundKey(ref), image)
		}
	})
	before := w.snapshot()
	logged, wrote := w.reconcile(rt, ref)
	does := doneBy(before, logged, wrote)
	for what, n := range does {
		seen[what] += n
	}
	all, shown := texts(said), slices.DeleteFunc(slices.Clone(logged), func(text string) bool {
		return chores[claimOf(text)] || ref.Kind.HasSlots() && unshown(text)
	})
	switch rest := slices.Clone(all); {
	case !ref.Kind.HasSlots():
		if len(all) < len(shown) || !slices.Equal(shown, all[:len(shown)]) {
			rt.Fatalf("%s: the dry run said %q, done was %q", ref, all, shown)
		}
	default: // its dry run shows the whole rollout, where actions of one commit may be in any order
		resolves := slices.ContainsFunc(all, func(text string) bool { return claimOf(text) == "resolve" })
		for _, text := range shown {
			at := slices.Index(rest, text)
			meanwhile := []string{"task-begins", "task-stops", "turns-back"}
			if at < 0 && resolves && slices.Contains(meanwhile, claimOf(text)) {
				continue // the rest assumed an immediate answer about the image; until then the current release stays
			}
			if at < 0 {
				rt.Fatalf("%s: the dry run said %q, done was %q", ref, all, text)
			}
			rest = slices.Delete(rest, at, at+1)
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
	if rapid.Bool().Draw(rt, "to the end") {
		others(before, ref, does)
		w.comesTrue(rt, ref, said, does)
	}
}

// others counts earlier requests to other parts that are still unfinished: a dry run still shows them.
func others(before records.Snapshot, ref api.Ref, does map[string]int) {
	if before.ImageRequest(ref).Exists() {
		does["resolve"]++
	}
	report := before.ClusterReport(ref)
	for _, job := range before.ClusterJobs("cluster") {
		if job.Value.Object == ref && (!report.Exists() || report.Value.Job != job.Value.ID) {
			does["sent"]++
		}
	}
}

// unsaid are the verbs of a dry run without an effect, with the reason.
var unsaid = map[string]string{
	"keep":   "it says why nothing is done",
	"refuse": "it says why nothing is done",
	"wait":   "it says what comes before",
	"risk":   "it says what may go wrong",
}

// comesTrue lets the scheduler, the agent and the operator work until all actions of a dry run have happened. does
// holds those that already have.
func (w *dryWorld) comesTrue(rt *rapid.T, ref api.Ref, said []api.PlannedAction, does map[string]int) {
	want := map[string]int{}
	for _, action := range said {
		if unsaid[action.Verb] == "" && !strings.HasSuffix(action.Text, "; this is reported only") {
			want[claimOf(action.Text)]++
		}
	}
	if want["sent"] > 0 {
		want["sent"] = 1 // one job restores all drifted resources
	}
	left := func() (out []string) {
		for what, n := range want {
			if does[what] < n {
				out = append(out, what)
			}
		}
		return out
	}
	for range 100 {
		if len(left()) == 0 {
			return
		}
		w.serve(rt)
		before := w.snapshot()
		logged, wrote := w.reconcile(rt, ref)
		for what, n := range doneBy(before, logged, wrote) {
			does[what] += n
		}
		if len(wrote) == 0 {
			w.now = w.now.Add(max(w.after, time.Second))
		}
	}
	rt.Fatalf("%s: the dry run said %q, and of that it never came to %q", ref, texts(said), left())
}

func texts(actions []api.PlannedAction) (out []string) {
	for _, action := range actions {
		out = append(out, action.Text)
	}
	return out
}

// chore names actions without a record. Dry runs don't show them.
const chore = "chore"

var chores = map[string]bool{chore: true, "forgets": true, "prunes": true}

// unshown reports whether the dry run leaves out an action of a rollout: one that removes the remains of an ended slot.
func unshown(text string) bool { return strings.HasPrefix(text, "remove the container of") }

// claims maps the words that actions begin with to the records that they imply.
var claims = []struct{ begin, what string }{
	{"forget ", "forgets"}, {"prune ", "prunes"}, {"count ", chore}, {"roll back", "turns-back"},
	{"remove the container of", "task-stops"},
	{"resolve image", "resolve"}, {"make release", "mint"},
	{"create run", "run-begins"}, {"run it once", "run-begins"}, {"finish run", "run-ends"},
	{"create ", "task-begins"}, {"start ", "task-begins"}, {"stop ", "task-stops"}, {"remove ", "task-stops"},
	{"apply ", "sent"}, {"delete it", "sent"}, {"restore ", "sent"}, {"cluster ", "sent"},
	{"poll ", "polls"}, {"end at", "end-moves"}, {"run *", "schedules"},
}

func claimOf(text string) string {
	for _, claim := range claims {
		if strings.HasPrefix(text, claim.begin) {
			return claim.what
		}
	}
	return "unknown: " + text
}

// doneBy counts what a commit does, by the records that it writes. A rollback has no record of its own: the logged
// action shows it.
func doneBy(before records.Snapshot, logged []string, wrote map[string]any) map[string]int {
	out, slots := map[string]int{}, map[string]bool{}
	for _, text := range logged {
		if claimOf(text) == "turns-back" {
			out["turns-back"]++
		}
	}
	removes := false // the object, with all that is kept under its name
	for key, value := range wrote {
		if task, ok := value.(*api.Task); ok {
			slots[task.Slot] = true
		}
		removes = removes || value == nil && strings.HasPrefix(key, records.DesiredPrefix)
	}
	for key, value := range wrote {
		switch is := value.(type) {
		case nil:
			if id, ok := strings.CutPrefix(key, records.TasksPrefix); ok && !slots[before.Task(id).Value.Slot] {
				out["forgets"]++ // otherwise another task has its slot
			}
			if strings.HasPrefix(key, records.RunsPrefix) && !removes {
				out["prunes"]++
			}
		case made:
			out[claimOf(string(is))]++
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
			was := before.JobStatus(statusOf(key)).Value
			if is.ScheduleHash != "" && (was == nil || was.ScheduleHash != is.ScheduleHash) {
				out["schedules"]++
			}
		}
	}
	return out
}
