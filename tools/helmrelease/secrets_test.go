package helmrelease

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

// secrets are the Secrets of a namespace, in memory: as much of Kubernetes as Helm's storage driver uses.
type secrets struct {
	typed.SecretInterface
	stored map[string]*corev1.Secret
}

var resource = corev1.Resource("secrets")

func (s *secrets) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	found, ok := s.stored[name]
	if !ok {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return found.DeepCopy(), nil
}

func (s *secrets) List(_ context.Context, options metav1.ListOptions) (*corev1.SecretList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &corev1.SecretList{}
	for _, name := range slices.Sorted(maps.Keys(s.stored)) {
		if selector.Matches(labels.Set(s.stored[name].Labels)) {
			list.Items = append(list.Items, *s.stored[name].DeepCopy())
		}
	}
	return list, nil
}

func (s *secrets) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	if s.stored[secret.Name] != nil {
		return nil, apierrors.NewAlreadyExists(resource, secret.Name)
	}
	s.stored[secret.Name] = secret.DeepCopy()
	return secret, nil
}

func (s *secrets) Update(_ context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	s.stored[secret.Name] = secret.DeepCopy()
	return secret, nil
}

func (s *secrets) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	delete(s.stored, name)
	return nil
}
