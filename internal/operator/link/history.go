package link

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"tend.dev/tend/api"
	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/api/pull"
)

// historyOf returns the revisions of the Helm release in a status, and which of them a generation became.
func historyOf(status map[string]any, generation int64) *pull.History {
	var has struct {
		History      []appsv1alpha1.HelmRevision `json:"history"`
		LastRevision appsv1alpha1.SpecRevision   `json:"lastRevision"`
	}
	// The API server has checked the object by its schema. A field that can't be read is left empty.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(status, &has)
	if len(has.History) == 0 {
		return nil
	}
	history := &pull.History{}
	for _, one := range has.History {
		history.Revisions = append(history.Revisions, api.HelmRevision{
			Revision: one.Revision, ChartVersion: one.ChartVersion, Status: one.Status, Digest: one.Digest,
			FirstDeployed: utc(one.FirstDeployed), LastDeployed: utc(one.LastDeployed),
		})
	}
	if has.LastRevision.Generation == generation {
		history.Current = has.LastRevision.Revision
	}
	return history
}

func utc(at *metav1.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.UTC()
}
