package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
)

// AddFinalizer adds a finalizer to an object. It returns a conflict if the object has changed since it was read.
func AddFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	if slices.Contains(object.GetFinalizers(), finalizer) {
		return nil
	}
	if err := patchFinalizers(ctx, c, object, append(slices.Clone(object.GetFinalizers()), finalizer)); err != nil {
		return fmt.Errorf("add the finalizer of %s: %w", object.GetName(), err)
	}
	return nil
}

// RemoveFinalizer removes a finalizer from an object. It returns a conflict if the object has changed since it was
// read.
func RemoveFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	left := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return f == finalizer })
	err := patchFinalizers(ctx, c, object, left)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer of %s: %w", object.GetName(), err)
	}
	return nil
}

// patchFinalizers replaces the list. From the answer it only copies the list and the resource version to the object.
func patchFinalizers(ctx context.Context, c client.Client, object client.Object, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion(), "finalizers": finalizers,
	}})
	if err != nil {
		return err
	}
	written, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is not an object of a cluster", object)
	}
	if err := c.Patch(
		ctx, written, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(identity.FieldManager),
	); err != nil {
		return err
	}
	object.SetFinalizers(written.GetFinalizers())
	object.SetResourceVersion(written.GetResourceVersion())
	return nil
}
