package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
)

// answers is a cluster that answers every request with an error.
type answers struct {
	client.Client
	err error
}

func (a answers) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return a.err
}

func (a answers) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return a.err
}

// TestAnAPIServerThatDoesNotAnswerFailsNoJob: an answer of the API server ends a job, a missing one never does.
func TestAnAPIServerThatDoesNotAnswerFailsNoJob(t *testing.T) {
	instances := schema.GroupResource{Group: kindInstance.Group, Resource: "applicationinstances"}
	over := func(err error) error { return &url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: err} }
	for what, test := range map[string]struct {
		err     error
		passing bool
		reason  string
	}{
		"refused":           {over(syscall.ECONNREFUSED), true, "the API server restarts"},
		"cut":               {over(io.EOF), true, "it was killed in its answer"},
		"reset":             {over(syscall.ECONNRESET), true, "the network fails"},
		"timeout":           {over(context.DeadlineExceeded), true, "it is too slow"},
		"unavailable":       {apierrors.NewServiceUnavailable("starting"), true, "it starts"},
		"too many requests": {apierrors.NewTooManyRequests("slowly", 1), true, "it is overloaded"},
		"invalid":           {apierrors.NewInvalid(kindInstance.GroupKind(), "web", nil), false, "it would be as wrong later"},
		"forbidden":         {apierrors.NewForbidden(instances, "web", errors.New("no role")), false, "a person must give the right"},
		"kind not served":   {&meta.NoKindMatchError{GroupKind: kindInstance.GroupKind()}, false, "a person must apply the kinds"},
	} {
		a := &applier{Client: answers{err: test.err}, Live: answers{err: test.err}}
		_, err := a.Apply(t.Context(), json.RawMessage(fmt.Sprintf(
			`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"prod","name":"web"},"spec":{}}`, kindInstance.GroupVersion(), kindInstance.Kind)), false)
		if got := errors.Is(err, puller.ErrPassing); got != test.passing {
			t.Errorf("apply, %s: passing: %t, want %t, since %s: %v", what, got, test.passing, test.reason, err)
		}
		err = a.Delete(t.Context(), api.ClusterResource{
			APIVersion: kindInstance.GroupVersion().String(), Kind: kindInstance.Kind, Namespace: "prod", Name: "web",
		})
		if got := errors.Is(err, puller.ErrPassing); got != test.passing {
			t.Errorf("delete, %s: passing: %t, want %t, since %s: %v", what, got, test.passing, test.reason, err)
		}
	}
}

// refusesDeletes is a cluster with one object, whose deletion ends with an error. after is its uid from then on; empty
// if it is gone.
type refusesDeletes struct {
	client.Client
	err   error
	after types.UID
	asked *bool
}

func (r refusesDeletes) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetUID("first")
	into.SetLabels(map[string]string{identity.LabelManagedBy: identity.ManagedBy})
	if *r.asked {
		into.SetUID(r.after)
	}
	if *r.asked && r.after == "" {
		return apierrors.NewNotFound(schema.GroupResource{}, "web")
	}
	return nil
}

func (r refusesDeletes) Delete(_ context.Context, _ client.Object, opts ...client.DeleteOption) error {
	*r.asked = true
	if !(&client.DeleteOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		return errors.New("reads wait until a cache reports this deletion, which one that never saw the object doesn't")
	}
	return r.err
}

// TestADeletionThatIsInConflict: the API server says conflict of an object that was made again under the name, and of a
// write that was outdated. After the second it is there as before.
func TestADeletionThatIsInConflict(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("precondition"))
	for what, test := range map[string]struct {
		err     error
		after   types.UID
		passing bool
	}{
		"made again": {conflict, "second", false},
		"gone":       {conflict, "", false},
		"still here": {conflict, "first", true},
		"deleted":    {nil, "first", false},
	} {
		cluster := refusesDeletes{err: test.err, after: test.after, asked: new(bool)}
		a := &applier{Client: cluster, Live: cluster}
		err := a.Delete(t.Context(), api.ClusterResource{
			APIVersion: kindInstance.GroupVersion().String(), Kind: kindInstance.Kind, Namespace: "prod", Name: "web",
		})
		if got := errors.Is(err, puller.ErrPassing); got != test.passing || err != nil && !got {
			t.Errorf("%s: %v, want an error that passes: %t", what, err, test.passing)
		}
	}
}
