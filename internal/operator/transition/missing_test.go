package transition_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/link"
	"tend.dev/tend/internal/operator/operation/controller"
	"tend.dev/tend/internal/operator/simulation/cluster"
	"tend.dev/tend/internal/operator/transition"
)

// kinds are the objects with Events. Their reconcilers must have an object reconciled again while an Event is missing:
// nothing else happens to it.
var kinds = map[string]struct {
	kind   schema.GroupVersionKind
	object string
	of     func(c client.WithWatch, events *transition.Recorder) reconcile.Reconciler
	want   []string // the reasons of its Events
}{
	"application": {cluster.Instance, `{"metadata":{"namespace":"prod","name":"web"},"spec":{
		"appRef":{"catalogId":"web"},"release":{"name":"web","namespace":"prod"},
		"chart":{"sourceType":"oci","url":"oci://registry.example.org/charts","name":"web","version":"1.2.3"},
		"values":{"source":"inline","inline":{}}}}`,
		func(c client.WithWatch, events *transition.Recorder) reconcile.Reconciler {
			served := func(schema.GroupVersionKind) bool { return true }
			return &instance.Reconciler{Client: c, ClusterID: berlin, Now: time.Now, Served: served, Events: events}
		}, []string{"HelmReleaseInstalling", "Reconciling"}},
	"operation that ends at once": {cluster.Operation, `{"metadata":{"namespace":"prod","name":"web",
		"annotations":{"ops.vworkspace.io/cancel":"true"}},
		"spec":{"targetRef":{"name":"web"},"type":"RunCommand","engine":"job","parameters":{"image":"busybox:1"}}}`,
		func(c client.WithWatch, events *transition.Recorder) reconcile.Reconciler {
			return &controller.Reconciler{
				Client: c, Live: c, ClusterID: berlin, Now: time.Now, Events: events,
				ApprovalSecret: func(context.Context) ([]byte, error) { return nil, nil },
			}
		}, []string{"OperationCancelled", "OperationNotBlocked", "OperationNotRunning", "OperationNotSucceeded"}},
	"cluster": {cluster.Registration, `{"metadata":{"name":"web"},"spec":{}}`,
		func(c client.WithWatch, events *transition.Recorder) reconcile.Reconciler {
			return &link.Reconciler{
				Client: c, Live: c, Mapper: c.RESTMapper(), Now: time.Now, Events: events,
				Secret: client.ObjectKey{Namespace: "default", Name: identity.SecretCredentials},
				Connection: &link.Connection{
					Client: c, Live: c, Notify: func() {}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
				},
			}
		}, []string{"AllControllersReady"}},
}

func berlin(context.Context) (string, error) { return "berlin", nil }

// refused is the number of attempts to write an Event that fail: by turns the API server refuses it, and its answer is
// lost. Later ones succeed.
const refused = 7

// TestEventsThatCantBeWritten: every transition has its Event in the end, and one of them, if the first attempts to
// write them fail and nothing but the reconciler's own result has the object reconciled again.
func TestEventsThatCantBeWritten(t *testing.T) {
	for name, test := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := cluster.New()
				create(t, made, cluster.Namespace, `{"metadata":{"name":"prod","labels":{"managed-by":"vworkspace"}}}`)
				create(t, made, cluster.Namespace, `{"metadata":{"name":"default"}}`)
				create(t, made, test.kind, test.object)
				c := refusing(t, made)
				reconciler := test.of(c, &transition.Recorder{Client: c, Live: c, Reporter: "test", Now: time.Now})
				live(t, reconciler, client.ObjectKeyFromObject(made.List(test.kind)[0]))
				var has []string
				for _, event := range made.List(cluster.Event) {
					reason, _, _ := unstructured.NestedString(event.Object, "reason")
					has = append(has, reason)
				}
				slices.Sort(has)
				if !slices.Equal(has, test.want) {
					t.Errorf("the Events are %q, want %q", has, test.want)
				}
			})
		})
	}
}

// TestEventOfAnOvertakenTransition: a transition has its Event also if the condition changed again before the Event
// could be written.
func TestEventOfAnOvertakenTransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := cluster.New()
		create(t, made, cluster.Namespace, `{"metadata":{"name":"default"}}`)
		create(t, made, cluster.Registration, `{"metadata":{"name":"web"},"spec":{}}`)
		web, c := made.List(cluster.Registration)[0], refusing(t, made)
		recorder := &transition.Recorder{Client: c, Live: c, Reporter: "test", Now: time.Now}
		began, times := metav1.Now(), 0
		for i := range refused {
			reason := fmt.Sprint("Reason", i%3) // each comes again
			event := transition.Event{Reason: reason, Condition: metav1.Condition{
				Type: "Ready", Reason: reason, LastTransitionTime: began,
			}}
			recorder.Record(t.Context(), web, cluster.Registration, []transition.Event{event})
			time.Sleep(time.Second)
		}
		if after := recorder.After(web.GetUID(), 0); after <= 0 || after > time.Minute {
			t.Errorf("the next reconcile is after %s, want one within a minute", after)
		}
		for range refused {
			recorder.CatchUp(t.Context(), web, cluster.Registration, nil)
		}
		for _, event := range made.List(cluster.Event) {
			count, _, _ := unstructured.NestedInt64(event.Object, "series", "count")
			times += int(max(1, count))
		}
		if times != refused {
			t.Errorf("the Events say %d transitions, want %d", times, refused)
		}
		if after := recorder.After(web.GetUID(), 0); after != 0 {
			t.Errorf("all Events are written, and the next reconcile is after %s", after)
		}
	})
}

// live reconciles an object for half an hour, when the results say.
func live(t *testing.T, reconciler reconcile.Reconciler, key client.ObjectKey) {
	t.Helper()
	for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); {
		result, err := reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter == 0 {
			return
		}
		time.Sleep(result.RequeueAfter)
	}
}

func create(t *testing.T, made *cluster.Cluster, kind schema.GroupVersionKind, text string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	version, name := kind.ToAPIVersionAndKind()
	text = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,%s`, version, name, text[1:])
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := made.Create(object, cluster.Write{By: "user"}); err != nil {
		t.Fatal(err)
	}
}

// refusing returns a client without a cache whose first attempts to write an Event fail.
func refusing(t *testing.T, made *cluster.Cluster) client.WithWatch {
	t.Helper()
	tries := 0
	return clientOf(t, made, cluster.Client{Name: "operator", Before: func(r cluster.Request) error {
		if r.Resource != "events" || !r.IsWrite() {
			return nil
		}
		if tries++; tries <= refused && tries%2 == 1 {
			return errors.New("connection refused")
		}
		return nil
	}, After: func(r cluster.Request) error {
		if r.Resource == "events" && r.IsWrite() && tries <= refused {
			return errors.New("connection reset by peer")
		}
		return nil
	}})
}

// clientOf returns a client without a cache.
func clientOf(t *testing.T, made *cluster.Cluster, as cluster.Client) client.WithWatch {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(&rest.Config{
		Host: "http://cluster", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		Transport: made.As(as),
	}, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
