package rollout

import (
	"cmp"
	"slices"

	"tend.dev/tend/api"
)

// scale creates missing slots and stops surplus ones.
func (p *planner) scale() {
	places := p.places()
	switch missing := p.wanted() - len(places); {
	case missing > 0:
		p.fill(missing)
	case missing < 0:
		p.shrink(places, -missing)
	}
}

// fill creates tasks for empty places. A place left by a failure of the same version waits for its backoff. Every other
// one is filled at once, in stop-first order behind a container that is still stopping.
func (p *planner) fill(missing int) {
	stopping := p.stopping()
	behind := func() (task string) {
		if len(stopping) > 0 {
			task, stopping = stopping[0].Task, stopping[1:]
		}
		return task
	}
	vacancies := p.vacancies(missing)
	for _, failed := range vacancies {
		if !p.waits(failed) {
			p.create(failed.ID, behind(), "its predecessor failed")
		}
	}
	for range missing - len(vacancies) {
		p.create("", behind(), "")
	}
}

// stopping returns the containers that may still hold what the next one needs exclusively (stop-first), and that no
// slot waits for yet; the one that was stopped first comes first. One on a lost node may never answer, and holds
// nothing that another node has.
func (p *planner) stopping() []*Slot {
	if p.desired.Strategy.Order != api.OrderStopFirst {
		return nil
	}
	awaited := map[string]bool{}
	for _, s := range p.live {
		awaited[s.After] = true
	}
	var out []*Slot
	for _, s := range slices.Backward(p.ended) {
		if !s.stopped() && !p.waiting(s) && !awaited[s.Task] && !p.frozen[s.ID] && !s.Lost {
			out = append(out, s)
		}
	}
	return out
}

// shrink stops surplus places: lost ones first, then those that never worked, then those that don't serve now, then
// outdated ones, then the youngest. Both halves of a pair go.
func (p *planner) shrink(places []*Slot, surplus int) {
	rank := func(s *Slot) int {
		switch {
		case s.Lost:
			return 0
		case s.broken():
			return 1
		case !s.serves() || s.Misplaced != "":
			return 2
		case !p.current(s):
			return 3
		}
		return 4
	}
	victims := slices.Clone(places)
	slices.SortStableFunc(victims, func(a, b *Slot) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range victims[:surplus] {
		p.stop(s, "scaled down")
		if next := p.successor[s.ID]; next != nil {
			p.stop(next, "scaled down")
		}
	}
}
