package transition_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/simulation/cluster"
	"tend.dev/tend/internal/operator/transition"
)

var (
	errReset    = errors.New("connection reset by peer")
	errOutdated = apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, "web", errors.New("modified"))
)

// repeats is an operator that takes a condition through its transitions.
type repeats struct {
	*testing.T
	*transition.Recorder
	made    *cluster.Cluster
	web     *unstructured.Unstructured
	refuses bool
	began   time.Time
}

// to returns the transition to a reason. All are of one time: the status stays the same.
func (r *repeats) to(reason string) []transition.Event {
	time.Sleep(time.Second)
	c := metav1.Condition{Type: "Ready", Reason: reason, LastTransitionTime: metav1.NewTime(r.began)}
	return []transition.Event{{Reason: reason, Condition: c}}
}

// writes stores a transition and its Event.
func (r *repeats) writes(reason string) {
	r.Record(r.Context(), r.web, cluster.Registration, r.to(reason))
}

// catchesUp finds a reason in the stored conditions.
func (r *repeats) catchesUp(reason string) {
	r.CatchUp(r.Context(), r.web, cluster.Registration, r.to(reason))
}

// kill starts another operator.
func (r *repeats) kill() {
	c := clientOf(r.T, r.made, cluster.Client{Name: "operator", Before: func(to cluster.Request) error {
		if r.refuses && to.Resource == "events" {
			return errReset
		}
		return nil
	}})
	r.Recorder = &transition.Recorder{Client: c, Live: c, Reporter: "test", Now: time.Now}
}

// TestEventOfARepeatedTransition: a condition that returns to a reason without a change of its status has one Event
// that counts both times, also if the operator ends, or gets no answer, once the second one is stored.
func TestEventOfARepeatedTransition(t *testing.T) {
	tests := map[string]struct {
		reason string
		live   func(r *repeats)
		want   string
	}{
		"kill": {"the next operator finds B, then A", func(r *repeats) {
			r.writes("A")
			r.writes("B")
			r.kill()
			r.catchesUp("A")
			r.kill()
			r.catchesUp("A") // it is counted
		}, "A×2 B×1"},
		"kills": {"each operator finds the next", func(r *repeats) {
			for _, reason := range []string{"A", "B", "A", "B", "C", "A"} {
				r.kill()
				r.catchesUp(reason)
			}
		}, "A×3 B×2 C×1"},
		"no answer": {"the status is stored", func(r *repeats) {
			r.writes("A")
			r.writes("B")
			r.Failed(r.web, r.to("A"), errReset)
			r.catchesUp("A")
			r.catchesUp("A")
			r.writes("B")
		}, "A×2 B×2"},
		"fault": {"the API server stored the status before its fault", func(r *repeats) {
			r.writes("A")
			r.writes("B")
			r.Failed(r.web, r.to("A"), apierrors.NewInternalError(errReset))
			r.catchesUp("A")
		}, "A×2 B×1"},
		"refusal": {"nothing is stored", func(r *repeats) {
			r.writes("A")
			r.writes("B")
			r.Failed(r.web, r.to("A"), errOutdated)
			r.catchesUp("B")
		}, "A×1 B×1"},
		"stored later": {"the next write is refused: the lost one came first", func(r *repeats) {
			r.writes("A")
			r.writes("B")
			r.Failed(r.web, r.to("A"), errReset)
			r.catchesUp("B")
			r.Failed(r.web, r.to("A"), errOutdated)
			r.catchesUp("A")
		}, "A×2 B×1"},
		"old status": {"the status has been the same for hours, and the reason is new", func(r *repeats) {
			r.writes("A")
			time.Sleep(3 * time.Hour)
			r.Failed(r.web, r.to("B"), errReset)
			r.catchesUp("B")
			r.kill()
			r.catchesUp("B")
		}, "A×1 B×1"},
		"no Events": {"none can be written for a while", func(r *repeats) {
			r.writes("A")
			r.refuses = true
			r.writes("B")
			r.Failed(r.web, r.to("A"), errReset)
			r.catchesUp("A")
			r.catchesUp("A")
			r.refuses = false
			r.catchesUp("A")
		}, "A×2 B×1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := cluster.New()
				create(t, made, cluster.Namespace, `{"metadata":{"name":"default"}}`)
				create(t, made, cluster.Registration, `{"metadata":{"name":"web"},"spec":{}}`)
				r := &repeats{T: t, made: made, web: made.List(cluster.Registration)[0], began: time.Now()}
				r.kill()
				test.live(r)
				said := ""
				for _, reason := range []string{"A", "B", "C"} {
					if times := timesOf(made, reason); times > 0 {
						said += fmt.Sprintf(" %s×%d", reason, times)
					}
				}
				if said != " "+test.want {
					t.Errorf("%s: the Events say%s, want %s", test.reason, said, test.want)
				}
			})
		})
	}
}

// TestKnowsTheOutcome: only a write without an answer makes an object unknown, until a later one is stored or the
// lost one can't be stored any more.
func TestKnowsTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := cluster.New()
		create(t, made, cluster.Namespace, `{"metadata":{"name":"default"}}`)
		create(t, made, cluster.Registration, `{"metadata":{"name":"web"},"spec":{}}`)
		r := &repeats{T: t, made: made, web: made.List(cluster.Registration)[0], began: time.Now()}
		r.kill()
		knows := func(want bool, when string) {
			t.Helper()
			if r.Knows(r.web.GetUID()) != want {
				t.Errorf("%s: it knows the object: %t, want %t", when, !want, want)
			}
		}
		knows(false, "at first")
		r.catchesUp("A")
		knows(true, "when it saw it")
		r.Failed(r.web, r.to("B"), errOutdated)
		knows(true, "after a conflict")
		r.Failed(r.web, r.to("B"), errReset)
		knows(false, "without an answer")
		r.catchesUp("A")
		knows(false, "while the lost write may be stored")
		r.writes("B")
		knows(true, "when a later one is stored")
		r.Failed(r.web, r.to("C"), errReset)
		time.Sleep(5 * time.Minute)
		r.catchesUp("B")
		knows(true, "when the lost one can't be stored")
	})
}

// timesOf returns how often the Events of a cluster say a reason.
func timesOf(made *cluster.Cluster, reason string) (times int64) {
	for _, event := range made.List(cluster.Event) {
		if is, _, _ := unstructured.NestedString(event.Object, "reason"); is == reason {
			count, _, _ := unstructured.NestedInt64(event.Object, "series", "count")
			times += max(1, count)
		}
	}
	return times
}
