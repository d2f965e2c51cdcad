package rollout

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// findFailures builds what the rules know of failures: the attempts per place, the open ones, the unfilled ones, and the
// one to tell people of.
func (p *picture) findFailures() {
	newest := map[string]time.Time{} // slot → when the newest attempt to take over from it was made
	for _, s := range p.byID {
		if s.Replaces != "" && !s.CreatedAt.Before(newest[s.Replaces]) {
			newest[s.Replaces] = s.CreatedAt
		}
	}
	for _, s := range p.ended {
		if !s.failed() {
			continue
		}
		if s.Replaces != "" {
			p.tries[s.Replaces] = append(p.tries[s.Replaces], s)
		}
		_, replaced := newest[s.ID]
		again := s.Replaces != "" && newest[s.Replaces].After(s.CreatedAt)
		if !replaced && !again && !p.frozen[s.ID] && !p.frozen[s.Replaces] {
			p.open = append(p.open, s)
		}
	}
	p.findUnfilled()
	p.failure = p.firstFailure()
}

// findUnfilled finds the failures whose place is still wanted and waits to be filled, or succeeded, again.
func (p *picture) findUnfilled() {
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

// firstFailure is the oldest live slot of the target that used up its chance, or else the newest failure of it that left a
// place behind.
func (p *picture) firstFailure() *Slot {
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

// unproven is the failure whose place runs its next try, until that one is good.
func (p *picture) unproven() *Slot {
	for _, s := range p.live {
		if before := p.tryBefore(s); before != nil && p.current(s) && !p.iced[s.ID] && !p.good(s) {
			return before
		}
	}
	return nil
}

// rollBack gives up the target where the strategy says so: something failed, and there is a good release to return to.
func (p *picture) rollBack() bool {
	d := p.desired
	if d.Strategy.OnFailure != api.OnFailureRollback || d.LastGood == "" || d.LastGood == d.Target.Release || p.failure == nil {
		return false
	}
	_, message := explain(p.failure)
	back := Version{Release: d.LastGood, Restart: d.Target.Restart}
	p.actions = append(p.actions, Action{Verb: RollBack, Slot: p.failure.ID, Task: p.failure.Task, Version: back, Reason: message})
	return true
}

func explain(s *Slot) (reason, message string) {
	reason = s.Reason
	switch {
	case s.CrashLoop:
		reason = "CrashLoop"
	case s.live():
		reason = "DeadlineExceeded"
	case reason == "":
		reason = "SlotFailed"
	}
	detail := s.Message
	if detail == "" {
		detail = "it did not become good in time"
		if !s.live() {
			detail = "it ended: " + string(s.State)
		}
	}
	return reason, fmt.Sprintf("slot %s of %s: %s", s.ID, s.Version.Release, detail)
}
