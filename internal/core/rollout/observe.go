package rollout

import (
	"cmp"
	"slices"
	"time"
)

// planner holds the observed slots, sorted for the rules, and the plan that the rules write. Every index is built once,
// so that a decision stays linear in the slots.
type planner struct {
	desired Desired
	now     time.Time

	byID map[string]*Slot
	// unstopped maps the tasks that others may have to wait for to their slots.
	unstopped map[string]*Slot
	live      []*Slot // wanted and not ended, oldest first
	ended     []*Slot // no longer wanted, or ended; newest end first
	// frozen are the marks whose slot is known, iced the live slots of their places.
	frozen, iced map[string]bool
	// successor maps a live slot to the live one that is to take over from it.
	successor map[string]*Slot
	// tries maps a slot to the failed attempts to take over from it, newest end first.
	tries map[string][]*Slot
	// open are failed slots without a later slot in their place: those of the target first, since the next attempt has
	// to wait after them alone, and the newest end first.
	open []*Slot
	// retry maps a live slot to the open failure of the target that was to take over from it.
	retry map[string]*Slot
	// unfilled are the open failures whose place is wanted.
	unfilled []*Slot
	target   int // places that should be filled
	// failure is a slot of the target that used up its chance, or nil.
	failure *Slot
	// obstructed is a slot of the target that has been failing to start for a while, and is tried until its deadline, or
	// that a person paused; or nil.
	obstructed *Slot

	actions []Action
	created int             // slots that this plan creates
	stopped map[string]bool // slots that this plan stops
	due     time.Time       // the earliest instant at which time alone changes the plan
}

// newPlanner sorts the slots; each kind of planner interprets them.
func newPlanner(desired Desired, slots []Slot, now time.Time) *planner {
	p := &planner{
		desired: desired, now: now,
		byID: make(map[string]*Slot, len(slots)), unstopped: make(map[string]*Slot, len(slots)),
		frozen: map[string]bool{}, iced: map[string]bool{}, successor: map[string]*Slot{}, tries: map[string][]*Slot{},
		retry: map[string]*Slot{}, stopped: map[string]bool{},
	}
	p.sort(slots)
	return p
}

func observe(desired Desired, slots []Slot, now time.Time) *planner {
	p := newPlanner(desired, slots, now)
	for _, s := range p.live {
		if old := p.byID[s.Replaces]; old != nil && old.live() {
			p.successor[old.ID] = s
		}
	}
	p.findIced()
	p.target = p.countWanted()
	p.findFailures()
	return p
}

// sort divides the slots into live and ended ones, each in an order that depends only on the slots themselves.
func (p *planner) sort(slots []Slot) {
	own, all := slices.Clone(slots), make([]*Slot, len(slots))
	for i := range own {
		all[i] = &own[i]
		if own[i].EndedAt.Before(own[i].CreatedAt) { // it has none, or the clock of its node is behind, or it lies
			own[i].EndedAt = own[i].CreatedAt
		}
		if !own[i].live() && p.ahead(own[i].EndedAt) {
			// The clock was set back since: what ended before is older than what ends under the new clock. Unchanged,
			// it would stay the newest attempt of its place, whose wait is long over.
			own[i].CreatedAt, own[i].EndedAt = time.Time{}, time.Time{}
		}
		p.discount(&own[i])
	}
	slices.SortFunc(all, func(a, b *Slot) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range all {
		p.byID[s.ID] = s
		if !s.stopped() {
			p.unstopped[s.Task] = s
		}
		if p.desired.Frozen[s.ID] {
			p.frozen[s.ID] = true
		}
		if s.live() {
			p.live = append(p.live, s)
		} else {
			p.ended = append(p.ended, s)
		}
	}
	slices.SortStableFunc(p.ended, func(a, b *Slot) int { return b.EndedAt.Compare(a.EndedAt) })
}

// places returns the live slots that count towards the replicas. A pair counts once, for its older half; slots that
// this plan stops or that a person froze don't count.
func (p *planner) places() []*Slot {
	out := make([]*Slot, 0, len(p.live))
	for _, s := range p.live {
		old := p.byID[s.Replaces]
		paired := old != nil && p.successor[old.ID] == s && !p.stopped[old.ID]
		if !p.stopped[s.ID] && !p.iced[s.ID] && !paired {
			out = append(out, s)
		}
	}
	return out
}

// countWanted counts how many places should be filled: a frozen one stays empty, and the two halves of a frozen pair
// are one place. If fewer replicas are wanted than there are places, a frozen one is surplus before one that is filled.
// It is counted once, before the plan stops anything.
func (p *planner) countWanted() int {
	frozen := 0
	for id := range p.frozen {
		if !p.frozen[p.byID[id].Replaces] {
			frozen++
		}
	}
	return max(p.desired.Replicas-frozen, min(p.desired.Replicas, len(p.places())))
}

// wanted returns how many places should be filled.
func (p *planner) wanted() int { return p.target }

func (p *planner) stop(s *Slot, reason string) {
	if p.stopped[s.ID] {
		return
	}
	p.stopped[s.ID] = true
	p.actions = append(p.actions, Action{Verb: Shutdown, Slot: s.ID, Task: s.Task, Version: s.Version, Reason: reason})
}

func (p *planner) create(replaces, after, reason string) {
	p.created++
	p.actions = append(p.actions, Action{
		Verb: Create, Version: p.desired.Target, Replaces: replaces, After: after,
		Monitor: p.monitor(replaces), Reason: reason,
	})
}
