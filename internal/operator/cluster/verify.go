package cluster

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
	"tend.dev/tend/internal/operator/agent"
	"tend.dev/tend/internal/operator/identity"
)

// verifier refuses jobs that are not the control plane's, and those of which the cluster has a newer one.
type verifier struct {
	Live client.Reader
	// Cluster is the identity that jobs are signed for, Keys the public keys that they are signed with.
	Cluster, Keys string
}

// Verify returns why a job is not to be done. The error is a passing one if that can't be said now.
func (v *verifier) Verify(ctx context.Context, job pull.Job) error {
	if err := pull.Verify(job, v.Cluster, v.Keys); err != nil {
		return err
	}
	if job.Object == "" { // of a control plane that says nothing of it
		return nil
	}
	live, err := v.live(ctx, job)
	if err != nil || live == nil {
		return err
	}
	if has := live.GetAnnotations()[pull.AnnotationObject]; older(job, has, live) {
		return fmt.Errorf("the job is of %s, and the %s %s/%s is of %s already: nothing was changed",
			job.Object, live.Kind, live.GetNamespace(), live.GetName(), has)
	}
	return nil
}

// older returns whether a job asks for what was before. Of one object the generation says so, if the job was made before the operator
// applied the present one: anyone who may write the resource may write the annotation, and a control plane that was restored from a
// backup counts generations from an older one. Of different objects a job is older that was made before the resource.
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

// appliedAt returns when the operator changed a resource last by applying it, as the API server records it, to the second; else the
// zero time.
func appliedAt(live *metav1.PartialObjectMetadata) (at time.Time) {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == identity.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Time != nil {
			at = entry.Time.Time
		}
	}
	return at
}

// version splits the value of the annotation into the object and its generation.
func version(text string) (object string, generation int64, ok bool) {
	dot := strings.LastIndexByte(text, '.')
	if dot < 0 {
		return "", 0, false
	}
	generation, err := strconv.ParseInt(text[dot+1:], 10, 64)
	return text[:dot], generation, err == nil
}

// live reads the resource of a job; nil if there is none, or if the job names none, which its execution says.
func (v *verifier) live(ctx context.Context, job pull.Job) (*metav1.PartialObjectMetadata, error) {
	named := &unstructured.Unstructured{}
	if json.Unmarshal(job.Payload, &named.Object) != nil || allowed(named.GroupVersionKind()) != nil {
		return nil, nil //nolint:nilerr // its execution says so
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
	return nil, fmt.Errorf("%w: read %s %s: %w", agent.ErrPassing, named.GetKind(), key, err)
}
