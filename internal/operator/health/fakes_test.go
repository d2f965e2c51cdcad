package health

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server plays the API server: objects by kind and name, kinds that are refused, and errors by name.
type server struct {
	t       *testing.T
	objects map[string]*unstructured.Unstructured
	refused map[string]bool
	fails   map[string]error
	pods    []corev1.Pod
	// asked are the requests, such as "Deployment web" and "metadata Secret web".
	asked []string
}

func (s *server) reader() *Reader {
	return &Reader{Live: s, Wait: func(context.Context) error { return nil }}
}

func (s *server) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind()
	resource := schema.GroupResource{Group: kind.Group, Resource: map[string]string{
		"Deployment": "deployments", "ConfigMap": "configmaps",
	}[kind.Kind]}
	name := kind.Kind + " " + key.Name
	if _, ok := into.(*metav1.PartialObjectMetadata); ok {
		s.asked = append(s.asked, "metadata "+name)
	} else {
		s.asked = append(s.asked, name)
	}
	live := s.objects[name]
	switch {
	case s.fails[name] != nil:
		return s.fails[name]
	case s.refused[kind.Kind]:
		return apierrors.NewForbidden(resource, key.Name, errors.New("no role allows it"))
	case kind.Kind == "Unserved":
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind()}
	case live == nil:
		return apierrors.NewNotFound(resource, key.Name)
	}
	switch into := into.(type) {
	case *unstructured.Unstructured:
		into.Object = runtime.DeepCopyJSON(live.Object)
	case *metav1.PartialObjectMetadata:
		into.DeletionTimestamp = live.GetDeletionTimestamp()
	default:
		s.t.Errorf("a %T is read", into)
	}
	return nil
}

func (s *server) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	pods, ok := into.(*corev1.PodList)
	if !ok {
		s.t.Errorf("a %T is listed", into)
		return nil
	}
	s.asked = append(s.asked, "pods")
	pods.Items = s.pods
	return nil
}
