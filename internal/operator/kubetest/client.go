package kubetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// Scheme returns the kinds that tests know by their Go types: Kubernetes' own and the operator's.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, appsv1alpha1.AddToScheme, opsv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // can't happen: the types are compiled in
		}
	}
	return scheme
}

// Client returns an administrator's client without a cache. agent is its field manager and its user agent.
func (s *Server) Client(t testing.TB, agent string) client.Client {
	t.Helper()
	made, err := client.New(s.As(agent), client.Options{Scheme: Scheme(), FieldOwner: agent})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// As returns an administrator's connection with a user agent.
func (s *Server) As(agent string) *rest.Config {
	config := rest.CopyConfig(s.Config)
	config.UserAgent = agent
	return config
}

var namespaces atomic.Int32

// Namespace creates a namespace for a test, with the label that lets the operator work in it. It stays until the server
// stops: no controller would empty it.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("test-", namespaces.Add(1))
	err := s.Client(t, "kubetest").Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{identity.LabelNamespaceGate: identity.NamespaceGate},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Eventually waits until done returns nil. After a minute it fails the test with the last error. done must not change
// anything.
func Eventually(t testing.TB, what string, done func(context.Context) error) {
	t.Helper()
	Within(t, time.Minute, what, done)
}

// Within is Eventually with another time than a minute.
func Within(t testing.TB, limit time.Duration, what string, done func(context.Context) error) {
	t.Helper()
	last := fmt.Errorf("never asked")
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, limit, true, func(ctx context.Context) (
		bool, error,
	) {
		if err := done(ctx); err == nil || ctx.Err() == nil { // the end of the time hides what was wrong
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}
