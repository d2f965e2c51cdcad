package link

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
)

// Compare returns how a resource differs from its manifest. Before it reports a difference, it asks the API server: the
// cache may not have the last apply yet.
func (a *applier) Compare(ctx context.Context, manifest json.RawMessage) (pull.State, api.ClusterResource, error) {
	given := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(manifest, &given.Object); err != nil { // keeps integers as integers
		return pull.State{}, api.ClusterResource{}, fmt.Errorf("the payload is not a manifest: %w", err)
	}
	wanted, err := a.wanted(given)
	if err != nil {
		return pull.State{}, api.ClusterResource{}, err
	}
	cached, err := a.cached(ctx, wanted)
	if err != nil {
		return pull.State{}, api.ClusterResource{}, err
	}
	if state := compare(wanted, cached); cached != nil && !state.Deleting && len(state.Differences) == 0 {
		return state, resourceOf(cached), nil
	}
	name := resourceOf(wanted)
	live, err := a.live(ctx, name)
	if err != nil {
		return pull.State{}, api.ClusterResource{}, err
	}
	if live != nil {
		name = resourceOf(live)
	}
	return compare(wanted, live), name, nil
}

// cached returns the resource of a manifest from the cache, or nil.
func (a *applier) cached(ctx context.Context, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := watched(wanted.GetKind())
	if err != nil {
		return nil, err
	}
	err = a.Client.Get(ctx, client.ObjectKeyFromObject(wanted), object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s/%s: %w", wanted.GetKind(), wanted.GetNamespace(), wanted.GetName(), err)
	}
	if same, ok := object.(*unstructured.Unstructured); ok {
		return same, nil
	}
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", wanted.GetKind(), wanted.GetNamespace(), wanted.GetName(), err)
	}
	read := &unstructured.Unstructured{Object: values}
	read.SetGroupVersionKind(wanted.GroupVersionKind())
	return read, nil
}

// compare returns how a live resource differs from what was applied. A field that the operator itself applied last
// doesn't count: the API server may have normalized its value.
func compare(wanted, live *unstructured.Unstructured) pull.State {
	switch {
	case live == nil:
		return pull.State{Missing: true}
	case live.GetDeletionTimestamp() != nil:
		return pull.State{Deleting: true}
	}
	var state pull.State
	for _, d := range apply.Differences(wanted.Object, live.Object) {
		manager, applied := apply.Manager(live.GetManagedFields(), d.Path)
		if manager == identity.FieldManager && applied {
			continue
		}
		found := api.ClusterDifference{Field: strings.TrimPrefix(d.Field(), "."), Declared: text(d.Wanted), Manager: manager}
		if d.Live != nil {
			found.Live = text(d.Live)
		}
		state.Differences = append(state.Differences, found)
	}
	return state
}

// text returns a value as JSON, shortened for the report.
func text(value any) string {
	const most = 128
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(encoded) > most {
		return strings.ToValidUTF8(string(encoded[:most-len("…")]), "") + "…"
	}
	return string(encoded)
}
