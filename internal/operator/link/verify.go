package link

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
)

// verifier refuses jobs that don't come from the control plane, and jobs older than what the cluster has.
type verifier struct {
	Live client.Reader
	// Cluster is the identity that jobs must be signed for. Keys are the public keys of the signatures.
	Cluster, Keys string
}

// Verify returns an error if a job must not be done. The error is a passing one if that can't be determined now.
func (v *verifier) Verify(ctx context.Context, job pull.Job) error {
	if err := pull.Verify(job, v.Cluster, v.Keys); err != nil {
		return err
	}
	if job.Object == "" { // this control plane doesn't send it
		return nil
	}
	live, err := v.live(ctx, job)
	if err != nil || live == nil {
		return err
	}
	if has := live.GetAnnotations()[pull.AnnotationObject]; older(job, has, live) {
		return fmt.Errorf("the job is for %s, but the %s %s/%s is already at %s: nothing was changed",
			job.Object, live.Kind, live.GetNamespace(), live.GetName(), has)
	}
	return nil
}

// older reports whether a job requests an earlier state. For the same object the generation decides, but only if the
// job was created before the operator last applied the resource: anyone with write access may write the annotation, and
// a control plane restored from a backup counts generations from an earlier one. For another object, the job is older
// if it was created before the resource.
func older(job pull.Job, has string, live *metav1.PartialObjectMetadata) bool {
	object, generation, known := version(job.Object)
	present, newest, stamped := version(has)
	switch {
	case !known || !stamped:
		return false
	case object == present:
		return generation < newest && !job.CreatedAt.Truncate(time.Second).After(appliedAt(live))
	}
	return job.CreatedAt.Before(live.GetCreationTimestamp().Time)
}

// appliedAt returns the time at which the operator last applied a resource, as recorded by the API server, to the
// second; zero if it never did.
func appliedAt(live *metav1.PartialObjectMetadata) (at time.Time) {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == identity.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.Subresource == "" && entry.Time != nil { // a status was not requested
			at = entry.Time.Time
		}
	}
	return at
}

// version splits the annotation's value into object and generation.
func version(text string) (object string, generation int64, ok bool) {
	dot := strings.LastIndexByte(text, '.')
	if dot < 0 {
		return "", 0, false
	}
	generation, err := strconv.ParseInt(text[dot+1:], 10, 64)
	return text[:dot], generation, err == nil
}

// live reads the resource of a job. It returns nil if there is none, or if the job is invalid, which its execution
// reports.
func (v *verifier) live(ctx context.Context, job pull.Job) (*metav1.PartialObjectMetadata, error) {
	named := &unstructured.Unstructured{}
	if json.Unmarshal(job.Payload, &named.Object) != nil || allowed(named.GroupVersionKind()) != nil {
		return nil, nil //nolint:nilerr // the job's execution reports it
	}
	key := client.ObjectKeyFromObject(named)
	if job.Kind == pull.KindDelete {
		key.Namespace, _ = named.Object["namespace"].(string)
		key.Name, _ = named.Object["name"].(string)
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(named.GroupVersionKind())
	err := v.Live.Get(ctx, key, live)
	switch {
	case err == nil:
		return live, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), key.Name == "":
		return nil, nil
	}
	return nil, fmt.Errorf("%w: read %s %s: %w", puller.ErrPassing, named.GetKind(), key, err)
}
