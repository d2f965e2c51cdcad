package clusterjob

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// world is one object with what is stored of it, and an operator that may die after any of its steps.
type world struct {
	now    time.Time
	object api.Object
	// revision is that of the object's last write.
	revision int64
	known    Known
	job      *api.ClusterJob
	report   *api.ClusterReport
	status   api.DeliveredStatus
	gone     bool
	// releases are those that are kept, made those that ever were.
	releases, made []api.Release

	// resource is the object in the cluster, payload the manifest that was applied last, done the keys that the operator
	// remembers; applies counts applies by key.
	resource *api.ClusterResource
	payload  string
	done     map[string]bool
	applies  map[string]int
	// held is the job that the operator works on, at a step; nil after it died.
	held *api.ClusterJob
	step int
}

func newWorld() *world {
	return &world{now: noon, revision: 7, known: Known{Name: "east", Declared: true, Registered: true}, done: map[string]bool{},
		applies: map[string]int{},
		object: api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud", Spec: instanceSpec("1.0.0"),
			Metadata: api.Metadata{UID: "u1", Generation: 1}}}
}

func instanceSpec(version string) []byte {
	return fmt.Appendf(nil,
		`{"cluster":"east","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":%q},"release":{"name":"cloud"},"values":{"source":"inline","inline":{}}}`, version)
}

// control reconciles once, as the controller does.
func (w *world) control(t rapid.TB) {
	if w.gone {
		return
	}
	d, err := Decide(Input{Object: w.object, Revision: w.revision, Job: w.job, Report: w.report, Cluster: w.known,
		Releases: w.releases, Before: w.status, Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	w.job, w.status, w.gone = d.Job, d.Status, d.Gone
	if d.Release != nil {
		w.releases, w.made = append(slices.Clone(w.releases), *d.Release), append(w.made, *d.Release)
	}
	w.releases = slices.DeleteFunc(slices.Clone(w.releases),
		func(r api.Release) bool { return slices.Contains(d.Surplus, r.ID) })
}

// operate lets the operator make one step: take a job, acknowledge it, do it, say so.
func (w *world) operate() {
	if w.held == nil {
		if w.job == nil || w.gone {
			return
		}
		if due, _ := Due(*w.job, w.report, w.now); due {
			held := *w.job
			w.held, w.step = &held, 0
		}
		return
	}
	switch w.step {
	case 0:
		if !w.post(func(r *api.ClusterReport) (api.ClusterReport, Verdict) { return Acknowledge(r, *w.held, w.now) }) {
			w.held = nil // closed: another has taken its place
			return
		}
	case 1:
		w.do()
	case 2:
		w.post(func(r *api.ClusterReport) (api.ClusterReport, Verdict) {
			return TakeStatus(r, *w.held, pull.Status{AppliedRef: w.resource, Timestamp: w.now}, w.now)
		})
		outcome := pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: w.resource, Timestamp: w.now}
		w.post(func(r *api.ClusterReport) (api.ClusterReport, Verdict) { return TakeResult(r, *w.held, outcome, w.now) })
		w.held = nil
		return
	}
	w.step++
}

// do applies or deletes, unless the key was done before; the key is remembered with it.
func (w *world) do() {
	if w.done[w.held.Key] {
		return
	}
	w.done[w.held.Key] = true
	w.applies[w.held.Key]++
	if w.held.Action == api.ActionDelete {
		w.resource = nil
		return
	}
	next := ResourceOf(w.held.Object)
	next.UID, next.Generation = "k1", w.held.Generation+100
	w.resource, w.payload = &next, string(w.held.Payload)
}

// post stores an answer if the job that it is of is still the one that is stored.
func (w *world) post(take func(*api.ClusterReport) (api.ClusterReport, Verdict)) bool {
	if w.job == nil || w.held.ID != w.job.ID || w.gone {
		return false
	}
	next, verdict := take(w.report)
	if verdict == Taken {
		w.report = &next
	}
	return verdict == Taken
}

// TestAnOperatorThatDiesAnywhere: whatever dies between any two steps, each generation is applied at most once, and in
// the end the cluster has the last one, or nothing if the object was deleted.
func TestAnOperatorThatDiesAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"control", "operate", "operate", "die", "change", "pause", "wait",
				"delete"}).Draw(t,
				"step") {
			case "control":
				w.control(t)
			case "operate":
				w.operate()
			case "die":
				w.held = nil
			case "change":
				if !w.object.Metadata.Deleting() {
					w.object.Metadata.Generation++
					w.revision++
					w.object.Spec = instanceSpec(fmt.Sprintf("1.0.%d", w.object.Metadata.Generation))
				}
			case "pause": // and back
				w.revision++
				if w.object.Metadata.Annotations == nil {
					w.object.Metadata.Annotations = map[string]string{"apps.vworkspace.io/reconcile": "disabled"}
				} else {
					w.object.Metadata.Annotations = nil
				}
			case "wait":
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 30*60).Draw(t, "seconds")) * time.Second)
			case "delete":
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					at := w.now
					w.object.Metadata.DeletedAt = &at
				}
			}
		}
		for range 12 {
			w.control(t)
			w.operate()
			w.now = w.now.Add(Lease / 4)
		}
		for range 20 {
			w.control(t)
			w.operate()
		}
		w.control(t)
		w.checkReleases(t)
		for key, n := range w.applies {
			if n != 1 {
				t.Fatalf("%s was done %d times", key, n)
			}
		}
		if w.object.Metadata.Deleting() {
			if !w.gone || w.resource != nil {
				t.Fatalf("deleted: gone %v, the cluster has %+v", w.gone, w.resource)
			}
			return
		}
		if w.resource == nil || w.resource.Generation != w.object.Metadata.Generation+100 ||
			w.status.ObservedGeneration != w.object.Metadata.Generation {
			t.Fatalf("generation %d: the cluster has %+v, the status says %+v", w.object.Metadata.Generation,
				w.resource, w.status)
		}
		if want, err := Payload(w.object); err != nil || w.payload != string(want) {
			t.Fatalf("the cluster has %s, want %s, %v", w.payload, want, err)
		}
	})
}
