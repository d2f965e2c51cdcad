package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// describeRevisions lists the revisions of an application's Helm release in its cluster, the newest first, and the
// releases of Tend that each is of.
func describeRevisions(w plain, status api.DeliveredStatus, now time.Time) {
	if len(status.Revisions) == 0 {
		return
	}
	w.printf("  Helm revisions:\n")
	for _, r := range status.Revisions {
		w.printf("    %d %s", r.Revision, dash(r.Status))
		if r.ChartVersion != "" {
			w.printf(", chart %s", r.ChartVersion)
		}
		if !r.LastDeployed.IsZero() {
			w.printf(", made %s ago", age(r.LastDeployed, now))
		}
		if of := releasesOf(status, r.Revision); len(of) > 0 {
			w.printf(": %s", strings.Join(of, ", "))
		}
		w.printf("\n")
	}
}

// releasesOf returns the kept releases that became a revision of Helm, oldest first. Releases that Helm renders to the
// same share one.
func releasesOf(status api.DeliveredStatus, revision int64) (ids []string) {
	for _, id := range slices.SortedFunc(maps.Keys(status.Outcomes), byNumber) {
		if status.Outcomes[id].HelmRevision == revision {
			ids = append(ids, id)
		}
	}
	return ids
}

// byNumber compares the ids of releases: v9 comes before v10.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
