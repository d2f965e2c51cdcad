//go:build flux

package fluxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/kubetest"
)

var (
	helmRelease    = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	ociRepository  = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
	helmRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"}
	helmChart      = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmChart"}
)

var (
	server     *kubetest.Server
	repository *Repository
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run starts an API server, Flux's controllers, the operator and a repository of charts for all tests.
func run(m *testing.M) (code int) {
	log.SetLogger(logr.Discard())
	repository = Serve()
	defer repository.Close()
	var err error
	if server, err = kubetest.Start(kubetest.Tend, kubetest.Flux); err != nil {
		fmt.Fprintln(os.Stderr, "fluxtest:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	made, err := operator.NewManager(server.As("operator"), operator.Options{
		Namespace: "operator", ClusterID: "berlin", NoAgent: true, Retry: time.Second,
	})
	if err == nil {
		err = server.StartFlux(repository.Authority())
	}
	if err == nil {
		go func() { ended <- made.Start(ctx) }()
		code = m.Run()
	} else {
		ended <- nil
	}
	cancel()
	if err := errors.Join(err, <-ended, server.Stop()); err != nil {
		fmt.Fprintln(os.Stderr, "fluxtest:", err)
		code = 1
	}
	if err := written.write(); err != nil {
		fmt.Fprintln(os.Stderr, "fluxtest:", err)
		code = 1
	}
	return code
}

// world is a namespace with the application web, whose chart comes from a source of one type.
type world struct {
	*testing.T
	namespace, source string
	user              client.WithWatch
	recorder          *recorder
}

func newWorld(t *testing.T, source string) *world {
	t.Helper()
	user, err := client.NewWithWatch(server.As("user"), client.Options{Scheme: kubetest.Scheme(), FieldOwner: "user"})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, namespace: server.Namespace(t), source: source, user: user}
	w.recorder = record(w)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", server.FluxLog())
		}
	})
	return w
}

// push serves a chart. Each test's chart has its own name.
func (w *world) push(version string, broken bool) {
	w.Helper()
	if err := repository.Push(Chart{Name: w.namespace, Version: version, Broken: broken}); err != nil {
		w.Fatal(err)
	}
}

// install creates the instance.
func (w *world) install(version string) {
	w.Helper()
	err := w.user.Create(w.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
		"metadata": map[string]any{"namespace": w.namespace, "name": "web"},
		"spec": map[string]any{
			"appRef":  map[string]any{"catalogId": "web"},
			"chart":   map[string]any{"sourceType": w.source, "url": repository.URL(w.source), "name": w.namespace, "version": version},
			"release": map[string]any{"name": "web", "namespace": w.namespace},
			"values":  map[string]any{"source": "inline", "inline": map[string]any{"note": "one"}},
		},
	}})
	if err != nil {
		w.Fatal(err)
	}
}

// upgrade declares another version.
func (w *world) upgrade(version string) {
	w.Helper()
	w.patch(instanceKind(), fmt.Sprintf(`{"spec":{"chart":{"version":%q}}}`, version))
}

func instanceKind() schema.GroupVersionKind {
	return appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind)
}

// patch merges a patch into an object named web.
func (w *world) patch(kind schema.GroupVersionKind, patch string) {
	w.Helper()
	live := w.named(kind, "web")
	if err := w.user.Patch(w.Context(), live, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// delete deletes an object as a person does.
func (w *world) delete(object client.Object) {
	w.Helper()
	if err := w.user.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) named(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(w.namespace)
	object.SetName(name)
	return object
}

// patience is the time that Flux may take for a step. On an idle machine it takes seconds, on a busy one minutes.
const patience = 5 * time.Minute

// says waits until the instance has the conditions, given as type=status/reason, for its current spec, and returns the
// message of the first.
func (w *world) says(conditions ...string) (message string) {
	w.Helper()
	kubetest.Within(w, patience, "conditions of the instance", func(ctx context.Context) error {
		instance := &appsv1alpha1.ApplicationInstance{}
		if err := w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web"}, instance); err != nil {
			return err
		}
		message = ""
		for _, want := range conditions {
			kind, state, _ := strings.Cut(want, "=")
			c := meta.FindStatusCondition(instance.Status.Conditions, kind)
			if c == nil || string(c.Status)+"/"+c.Reason != state || c.ObservedGeneration != instance.Generation {
				return fmt.Errorf("want %s of generation %d, have %+v", want, instance.Generation, instance.Status.Conditions)
			}
			if message == "" {
				message = c.Message
			}
		}
		return nil
	})
	return message
}

// runs fails the test unless the chart's ConfigMap has the version now, whatever the statuses report.
func (w *world) runs(version string) {
	w.Helper()
	made := &corev1.ConfigMap{}
	err := w.user.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web-config"}, made)
	if err != nil || made.Data["version"] != version {
		w.Errorf("the ConfigMap is of version %q, want %q (%v)", made.Data["version"], version, err)
	}
}

// gone waits until an object no longer exists.
func (w *world) gone(object client.Object) {
	w.Helper()
	kubetest.Within(w, patience, "the end of "+object.GetName(), func(ctx context.Context) error {
		err := w.user.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("%s exists", object.GetName())
		}
		return client.IgnoreNotFound(err)
	})
}
