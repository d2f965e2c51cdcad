package instance

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// The bounds of the history in a status: the revisions, and the bytes of a text. Flux keeps fewer of a release that
// works, and all attempts of one that fails.
const (
	maxHistory      = 10
	maxHistoryField = 128
)

// Helm's words for a revision.
const (
	helmDeployed   = "deployed"
	helmSuperseded = "superseded"
)

// revision is an entry of Flux's history of a release. config is the digest of its values.
type revision struct {
	appsv1alpha1.HelmRevision
	config string
}

// history returns the revisions of a release as Flux reports them, the newest first, each number once.
func (f fluxObject) history() (all []revision) {
	if f.absent() {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(f.Object, "status", "history")
	for _, one := range list {
		values, _ := one.(map[string]any)
		text := func(key string) string { value, _ := values[key].(string); return limit(value, maxHistoryField) }
		number, _ := values["version"].(int64)
		if number < 1 {
			continue
		}
		all = append(all, revision{config: text("configDigest"), HelmRevision: appsv1alpha1.HelmRevision{
			Revision: number, ChartVersion: text("chartVersion"), Status: text("status"), Digest: text("digest"),
			FirstDeployed: timeOf(text("firstDeployed")), LastDeployed: timeOf(text("lastDeployed")),
		}})
	}
	slices.SortStableFunc(all, func(a, b revision) int { return cmp.Compare(b.Revision, a.Revision) })
	return slices.CompactFunc(all, func(a, b revision) bool { return a.Revision == b.Revision })
}

// timeOf returns a time of Kubernetes, or nil if it can't be read, or not be written as JSON.
func timeOf(text string) *metav1.Time {
	at, err := time.Parse(time.RFC3339, text)
	if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 {
		return nil
	}
	return &metav1.Time{Time: at}
}

// history records the revisions of the Helm release, and the one that the present spec became once Flux has said so.
// While that isn't known, what was recorded of an earlier spec stays.
func (p *planner) history(f fluxState) {
	status := &p.result.Status
	all := f.release.history()
	status.History = nil
	for _, one := range all[:min(len(all), maxHistory)] {
		status.History = append(status.History, one.HelmRevision)
	}
	var before int64
	if last := status.LastRevision; last != nil && last.Generation != p.instance.Generation {
		before = last.Revision
	}
	if number := f.became(before); number > 0 {
		status.LastRevision = &appsv1alpha1.SpecRevision{Generation: p.instance.Generation, Revision: number}
	}
}

// became returns the revision that the desired release became in Flux's last attempt; 0 while it is under way, or if
// the attempt made none. A success is the newest revision, which may be that of an earlier spec: one that Helm renders
// to the same. A failure may be followed by the revision of a rollback, so it is the newest one of the same chart and
// values; it is newer than before, the revision that an earlier spec became.
func (f fluxState) became(before int64) int64 {
	if f.held != "" || f.pending() || f.outdated() {
		return 0
	}
	status, _, _ := f.ready()
	succeeded, failed := status == metav1.ConditionTrue, f.failure() != ""
	for i, one := range f.release.history() {
		newest := i == 0
		switch {
		case !f.attempted(one):
		case succeeded && newest && one.Status == helmDeployed:
			return one.Revision
		case !succeeded && failed && one.Revision > before &&
			(newest || one.Status != helmDeployed && one.Status != helmSuperseded):
			return one.Revision
		}
	}
	return 0
}

// attempted reports whether a revision has the chart and the values of Flux's last attempt.
func (f fluxState) attempted(one revision) bool {
	chart := f.release.status("lastAttemptedRevision")
	return chart != "" && limit(chart, maxHistoryField) == one.ChartVersion &&
		limit(f.release.status("lastAttemptedConfigDigest"), maxHistoryField) == one.config
}
