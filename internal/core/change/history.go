package change

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// Chapter is a change of an object and what became of it.
type Chapter struct {
	At time.Time `json:"at"`
	// Type of the event that began it; empty for what the log has of the time before its first change.
	Type string `json:"type,omitempty"`
	api.EventData
	// Outcomes lists the results of the reconciles before the next change, in order.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Fate is set for a change without an outcome; empty while an outcome may follow.
	Fate Fate `json:"fate,omitempty"`
}

// Outcome is the end of a reconcile.
type Outcome struct {
	At     time.Time `json:"at"`
	Phase  string    `json:"phase,omitempty"`
	Failed bool      `json:"failed,omitempty"`
	// Trying is set for a failure that Tend still retries: the rollout goes on, and no later change replaced it.
	Trying  bool   `json:"trying,omitempty"`
	Release string `json:"release,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// HelmRevision is the revision of Helm that Release became; 0 if that isn't known.
	HelmRevision int64 `json:"helmRevision,omitempty"`
}

// Fate is the reason why a change has no outcome of its own.
type Fate string

// The values of Fate.
const (
	FateUnderWay Fate = "under-way"
	// FateSuperseded: the next change set the same to something else before it was done.
	FateSuperseded Fate = "superseded"
	// FateJoined: the next change came before it was done, and both went on together.
	FateJoined Fate = "joined"
	// FateQuiet: it was asked to replace nothing, and comes with the next release.
	FateQuiet Fate = "quiet"
	// FateNextRun: it takes effect when the job runs next.
	FateNextRun Fate = "next-run"
	// FateUnchanged: there was nothing to do for it.
	FateUnchanged Fate = "unchanged"
	// FateDeleted: the object was deleted before it was done.
	FateDeleted Fate = "deleted"
)

// History returns the changes of one object and what became of each, from its events in their order.
func History(events []api.Event) []Chapter {
	var out []Chapter
	var state settling
	observed := map[int]bool{} // chapters that a settled status is about
	idle := map[int]bool{}     // chapters of a job that wait for its next run
	for _, e := range events {
		var d api.EventData
		_ = json.Unmarshal(e.Data, &d) // what can't be read has no details
		action := api.EventAction(strings.TrimPrefix(e.Type, api.EventType(d.Kind, "")))
		switch action {
		case api.EventCreated, api.EventUpdated, api.EventDeleted:
			out = append(out, Chapter{At: e.Time, Type: e.Type, EventData: d})
			continue
		}
		if len(out) == 0 {
			out = append(out, Chapter{At: e.Time,
				EventData: api.EventData{Kind: d.Kind, Scope: d.Scope, Name: d.Name, UID: d.UID}})
		}
		now := &out[len(out)-1]
		if d.Release != "" && !turnsBack(d.Phase) && !now.worked() {
			now.Release = d.Release
		}
		idle[len(out)-1] = d.Kind.HasRuns() && d.ObservedGeneration >= now.Generation && api.RunState(d.Phase).Ended()
		state.after(action, d)
		if action != api.EventStatusUpdated {
			now.Outcomes = append(now.withoutTried(action, d), Outcome{
				At: e.Time, Failed: action == api.EventFailed, Phase: d.Phase, Release: d.Release,
				Trying: action == api.EventFailed && state.tries(d),
				Reason: d.Reason, Message: d.Message, HelmRevision: d.HelmRevision,
			})
		} else if state.settled && d.ObservedGeneration >= now.Generation {
			observed[len(out)-1] = true
		}
		now.revised(d)
		now.goesOn(state.tries(d))
	}
	for i := range out {
		out[i].endTries(i == len(out)-1)
		var next *Chapter
		if i+1 < len(out) {
			next = &out[i+1]
		}
		out[i].Fate = out[i].fate(observed[i], next)
		if out[i].Fate == FateUnderWay && idle[i] {
			out[i].Fate = FateNextRun
		}
	}
	return out
}

// revised completes the outcomes of a release with its revision of Helm, which a cluster may report after its
// condition. An outcome keeps the first: what follows without a change, such as other values from a Secret, isn't its
// own.
func (c Chapter) revised(d api.EventData) {
	for i, o := range c.Outcomes {
		if o.HelmRevision == 0 && o.Release == d.Release && d.HelmRevision > 0 {
			c.Outcomes[i].HelmRevision = d.HelmRevision
		}
	}
}

// goesOn takes note of what follows a failure: a rollout that was paused or turned back is not tried any more.
func (c Chapter) goesOn(tried bool) {
	for i := range c.Outcomes {
		c.Outcomes[i].Trying = c.Outcomes[i].Trying && tried
	}
}

// withoutTried returns the outcomes before another one. A failure that was retried, and has now paused the rollout for
// the same reason, is one.
func (c Chapter) withoutTried(action api.EventAction, d api.EventData) []Outcome {
	last := len(c.Outcomes) - 1
	if last < 0 || action != api.EventFailed || d.Phase != string(api.RolloutPaused) {
		return c.Outcomes
	}
	if o := c.Outcomes[last]; o.Failed && o.Phase == string(api.RolloutProgressing) && o.Reason == d.Reason &&
		o.Release == d.Release {
		return c.Outcomes[:last]
	}
	return c.Outcomes
}

// endTries leaves Trying to the last outcome of the last change alone.
func (c Chapter) endTries(last bool) {
	for i := range c.Outcomes {
		c.Outcomes[i].Trying = c.Outcomes[i].Trying && last && i == len(c.Outcomes)-1
	}
}

// worked reports whether the change was done: a later release is another one's, such as that of a tag that moved.
func (c Chapter) worked() bool {
	return slices.ContainsFunc(c.Outcomes, func(o Outcome) bool { return !o.Failed })
}

// turnsBack reports whether a rollout in this phase is on its way to an earlier release than the one that was asked
// for.
func turnsBack(phase string) bool {
	return phase == string(api.RolloutRollingBack) || phase == string(api.RolloutRolledBack)
}

// settling records whether the object matches its spec. The phase decides this until an event has a condition, since
// the log may begin late. resting is set while Progressing is False: the object waits for a person.
type settling struct{ known, settled, resting bool }

// tries reports whether Tend goes on with the rollout that an event is about. It doesn't where a person paused a pod.
func (s settling) tries(d api.EventData) bool {
	return d.Phase == string(api.RolloutProgressing) && !s.resting
}

// after takes note of an event about the status.
func (s *settling) after(action api.EventAction, d api.EventData) {
	switch action {
	case api.EventReconciled, api.EventFailed:
		s.known, s.settled = true, action == api.EventReconciled
		return
	}
	if !s.known {
		s.settled = d.Phase == string(api.RolloutComplete)
	}
	for _, c := range d.Conditions {
		if c.Type == api.ConditionProgressing {
			s.resting = c.Status == api.ConditionFalse
		}
		switch is := c.Status == api.ConditionTrue; c.Type {
		case api.ConditionReady:
			s.known, s.settled = true, is
		case api.ConditionProgressing, api.ConditionDegraded:
			s.known, s.settled = true, s.settled && !is
		}
	}
}

func (c Chapter) fate(observed bool, next *Chapter) Fate {
	deleted := api.EventType(c.Kind, api.EventDeleted)
	switch {
	case len(c.Outcomes) > 0 || c.Type == "" || c.Type == deleted || !c.Kind.HasController():
		return ""
	case c.Kind.TimeBoxed() && c.Type == api.EventType(c.Kind, api.EventUpdated):
		return "" // of a change of a lab none may come
	case observed && c.touches("metadata.stamps."+api.StampQuietEnv):
		return FateQuiet
	case observed:
		return FateUnchanged
	case next == nil:
		return FateUnderWay
	case next.Type == deleted && c.Deletes():
		return "" // that is its outcome
	case next.Type == deleted || next.Deletes():
		return FateDeleted
	case c.MoreChanges+next.MoreChanges > 0 ||
		slices.ContainsFunc(c.Changes, func(change api.EventChange) bool { return next.touches(change.Path) }):
		return FateSuperseded
	}
	return FateJoined
}

// Deletes reports whether the change asked for the deletion of the object.
func (c Chapter) Deletes() bool { return c.touches("metadata.deletedAt") }

// touches reports whether a change is about a field, or about one in it or around it.
func (c Chapter) touches(path string) bool {
	return slices.ContainsFunc(c.Changes, func(change api.EventChange) bool {
		return change.Path == path || strings.HasPrefix(change.Path, path+".") || strings.HasPrefix(path, change.Path+".")
	})
}
