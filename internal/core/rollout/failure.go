package rollout

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// findFailures collects the failures for the rules: the attempts per place, the open ones, the unfilled ones, and the
// one to report.
func (p *planner) findFailures() {
	newest := map[string]time.Time{} // slot → when the newest attempt to take over from it was made
	for _, s := range p.byID {
		if s.Replaces != "" && !s.CreatedAt.Before(newest[s.Replaces]) {
			newest[s.Replaces] = s.CreatedAt
		}
	}
	var others []*Slot
	for _, s := range p.ended {
		if !s.failed() {
			continue
		}
		if s.Replaces != "" {
			p.tries[s.Replaces] = append(p.tries[s.Replaces], s)
		}
		_, replaced := newest[s.ID]
		again := s.Replaces != "" && newest[s.Replaces].After(s.CreatedAt)
		switch {
		case replaced || again || p.frozen[s.ID] || p.frozen[s.Replaces]:
		case p.current(s):
			p.open = append(p.open, s)
		default:
			others = append(others, s)
		}
	}
	p.open = append(p.open, others...)
	p.findUnfilled()
	p.failure = p.firstFailure()
}

// findUnfilled finds the failures whose place is still wanted and waits to be filled again, or for another successor.
func (p *planner) findUnfilled() {
	places := p.places()
	p.unfilled = p.vacancies(p.wanted() - len(places))
	for _, s := range p.open {
		if old := p.byID[s.Replaces]; old != nil && old.live() && p.current(s) && p.retry[old.ID] == nil {
			p.retry[old.ID] = s
		}
	}
	for _, place := range places {
		if failed := p.retry[place.ID]; failed != nil && !p.current(place) {
			p.unfilled = append(p.unfilled, failed)
		}
	}
}

// discount makes the failure of a slot that had failed before the last try was asked for one of another version: that
// is replaced at once, holds nothing, and no backoff is computed from it. What fails later counts, whenever it was
// created.
func (p *planner) discount(s *Slot) {
	if s.Pull == p.desired.Pull || s.Version != p.desired.Target {
		return
	}
	s.Attempt = min(s.Attempt, 1)
	if s.failedAt().After(p.desired.PulledAt) {
		return
	}
	s.NextAttempt = min(s.NextAttempt, 1)
	if s.live() && p.failing(s) || !s.live() && s.failed() {
		s.Version = Version{}
	}
}

// failedAt returns since when a slot that failed has been no good.
func (s *Slot) failedAt() time.Time {
	switch {
	case !s.live():
		return s.EndedAt
	case !s.UnreadyAt.IsZero():
		return s.UnreadyAt
	case !s.ReadyAt.IsZero():
		return s.ReadyAt
	}
	return s.CreatedAt
}

// firstFailure returns the oldest live slot of the target that used up its chance, or else the newest failure of the
// target that left a place behind.
func (p *planner) firstFailure() *Slot {
	for _, s := range p.live {
		if p.current(s) && !p.iced[s.ID] && p.failing(s) {
			return s
		}
	}
	for _, s := range p.unfilled {
		if p.current(s) {
			return s
		}
	}
	return nil
}

// unproven returns the failure whose place runs its next attempt, until that one is good.
func (p *planner) unproven() *Slot {
	for _, s := range p.live {
		if before := p.tryBefore(s); before != nil && p.current(s) && !p.iced[s.ID] && !s.Lost && !p.good(s) {
			return before
		}
	}
	return nil
}

// rollBack gives up the target if the strategy says so: something failed, and there is a good release to return to.
func (p *planner) rollBack() bool {
	d := p.desired
	if d.Strategy.OnFailure != api.OnFailureRollback || d.LastGood == "" ||
		d.LastGood == d.Target.Release || p.failure == nil {
		return false
	}
	_, message := p.explain(p.failure)
	back := Version{Release: d.LastGood, Restart: d.Target.Restart}
	p.actions = append(p.actions, Action{Verb: RollBack, Slot: p.failure.ID, Task: p.failure.Task,
		Version: back, Reason: message})
	return true
}

// explain returns the reason why a slot failed.
func (p *planner) explain(s *Slot) (reason, message string) {
	reason, message = s.Reason, s.Message
	switch {
	case s.CrashLoop && (reason == api.ReasonOOMKilled || reason == api.ReasonVolumeInUse): // the cause of the loop
	case s.CrashLoop:
		reason = api.ReasonCrashLoop
	case s.live():
		late := fmt.Sprintf("not ready within %s (strategy.deadline)", p.desired.Strategy.Deadline)
		if !s.UnreadyAt.IsZero() {
			late = fmt.Sprintf("it was ready, and then not for %s (strategy.deadline)", p.desired.Strategy.Deadline)
		}
		if message == "" {
			return "DeadlineExceeded", late
		}
		return "DeadlineExceeded", late + ": " + strings.TrimPrefix(message, probe.Starting)
	case reason == "":
		reason = "SlotFailed"
	}
	if message == "" {
		message = "it ended: " + string(s.State)
	}
	return reason, message
}
