package outcome

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// judgeReplaced ends the wait for a release that a newer change took the place of: it will never be complete. What
// changes no release, such as a scale, replaces nothing, and a release that was complete before has converged.
func (s *judged) judgeReplaced(o Observed, status api.WorkloadStatus) {
	if s.Counts || s.Gone || s.Generation == 0 || o.Object.Metadata.Deleting() ||
		o.Object.Metadata.Generation <= s.Generation {
		return
	}
	var own, newer *api.Release
	for i := range o.Releases {
		switch r := &o.Releases[i]; {
		case r.Generation == s.Generation:
			own = r
		case r.Generation > s.Generation && newer == nil:
			newer = r
		}
	}
	if newer == nil {
		return
	}
	s.needs, s.lacks, s.Warning, s.Cause = nil, false, "", ""
	mine := "change"
	if own != nil {
		mine = own.ID
	}
	if own != nil && status.Outcomes[own.ID].Good {
		s.State, s.Reason, s.Next = api.OutcomeConverged, "Complete", ""
		s.Message = mine + " was complete, then replaced by " + changeOf(*newer)
		return
	}
	s.State, s.Reason, s.Next = api.OutcomeReplaced, "Replaced",
		fmt.Sprintf("tend history %s/%s", s.Ref.Scope, s.Ref.Name)
	s.Message = fmt.Sprintf("your %s was replaced by %s before it was complete", mine, changeOf(*newer))
}

// changeOf says whose change a release is, and when it was made.
func changeOf(r api.Release) string {
	by, verb := "a newer ", "change"
	if r.Change != nil {
		verb = r.Change.Verb
		if who := api.ActorName(r.Change.Actor); who != "" {
			by = who + "'s "
		}
	}
	return fmt.Sprintf("%s%s (%s UTC)", by, verb, r.CreatedAt.UTC().Format(time.TimeOnly))
}
