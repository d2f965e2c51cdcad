package rollout

import (
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// ordered is the planner of slots that are ordinals. A deployment derives its history from which slot replaces which;
// an ordinal has it in its own task: it is the only task of its place, so the next can only be created once its
// container is gone, and the attempts are counted in the tasks.
type ordered struct {
	*planner
	places  []*Slot // the wanted ones by ordinal; nil if there is no task
	surplus []*Slot // of ordinals that are not wanted, the highest first
	atOnce  bool
}

// decideOrdered skips the turns if atOnce is set, as in a forecast of very many slots.
func decideOrdered(desired Desired, slots []Slot, now time.Time, atOnce bool) Plan {
	o := observeOrdered(desired, slots, now)
	o.atOnce = atOnce
	switch {
	case desired.Deleting:
		o.deletion()
		return o.deleting()
	case o.rollBack():
		return o.rollingBack()
	}
	o.freeze()
	o.scaleDown()
	o.renew()
	o.replaceBroken()
	o.fill()
	o.turn()
	return o.summarizeOrdered()
}

func observeOrdered(desired Desired, slots []Slot, now time.Time) *ordered {
	p := newPlanner(desired, slots, now)
	o := &ordered{planner: p, places: make([]*Slot, max(desired.Replicas, 0))}
	clear(p.frozen)
	for n := range o.places {
		if s := p.byID[strconv.Itoa(n)]; s != nil {
			o.places[n] = s
		}
		if id := strconv.Itoa(n); desired.Frozen[id] {
			p.frozen[id] = true
			p.iced[id] = true
		}
	}
	p.target = len(o.places) - len(p.frozen)
	o.findSurplus()
	o.findFailedOrdinals()
	return o
}

// findSurplus finds the slots that are no wanted ordinals. A slot whose name isn't an ordinal comes last.
func (o *ordered) findSurplus() {
	highest := -1
	byOrdinal := map[int]*Slot{}
	var unnumbered []*Slot
	for _, list := range [][]*Slot{o.live, o.ended} {
		for _, s := range list {
			n, err := strconv.Atoi(s.ID)
			switch {
			case err != nil || n < 0 || strconv.Itoa(n) != s.ID:
				unnumbered = append(unnumbered, s)
			case n >= len(o.places):
				byOrdinal[n] = s
				highest = max(highest, n)
			}
		}
	}
	for n := highest; n >= len(o.places); n-- {
		if s := byOrdinal[n]; s != nil {
			o.surplus = append(o.surplus, s)
		}
	}
	o.surplus = append(o.surplus, unnumbered...)
}

// thawed reports whether an ordinal is to run.
func (o *ordered) thawed(n int) bool { return !o.frozen[strconv.Itoa(n)] }

// scaleDown stops surplus ordinals from the top: the next one once the container above it has stopped. It doesn't wait
// for a lost one, which may never answer.
func (o *ordered) scaleDown() {
	for _, s := range o.surplus {
		if s.live() {
			o.stop(s, "scaled down")
		} else {
			o.collectOrdinal(s)
		}
		if !s.stopped() && !s.Lost && !o.atOnce {
			return
		}
	}
}

// collectOrdinal takes the next step of removing what is left of an ended ordinal. Its desired state rises once per
// plan.
func (o *ordered) collectOrdinal(s *Slot) {
	if s.wanted() {
		o.retire(s, Ended+s.end(), o.afterEnd(s))
		return
	}
	o.clear(s, "")
}

// retire stops an ordinal that is to be filled again; next is the number of its next attempt.
func (o *ordered) retire(s *Slot, reason string, next int) {
	if o.stopped[s.ID] {
		return
	}
	o.stop(s, reason)
	action := &o.actions[len(o.actions)-1]
	action.NextAttempt = next
	if next > 1 {
		action.Failed = o.lastFailure(s)
	}
}

// lastFailure returns why an ordinal failed, or the attempt before it if this one did not.
func (o *ordered) lastFailure(s *Slot) *api.TaskFailure {
	if !s.failed() {
		return s.Failed
	}
	reason, message := o.explain(s)
	return &api.TaskFailure{Reason: reason, Message: message, Next: s.Next}
}

// gone reports whether nothing keeps the ordinal's next task from being created: nothing is left of its container, so
// that its name is free; or it has ended, its node doesn't answer, and another node takes the next task.
func gone(s *Slot) bool {
	cleared := !s.Placed || s.Desired == api.DesiredRemoved && !s.Observed
	return !s.wanted() && (cleared || s.Away && s.Elsewhere)
}
