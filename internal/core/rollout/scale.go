package rollout

import (
	"cmp"
	"slices"
)

// scale creates what is missing and stops what is too much.
func (p *picture) scale(stopped map[string]bool) []Action {
	places := p.places(stopped)
	missing := p.wanted() - len(places)
	switch {
	case missing > 0:
		return p.fill(missing)
	case missing < 0:
		return p.shrink(places, -missing)
	}
	return nil
}

// wanted is how many places should be filled: a frozen slot keeps its place empty.
func (p *picture) wanted() int { return max(p.desired.Replicas-len(p.desired.Frozen), 0) }

// fill creates tasks for empty places. A place left by a failure of the same version waits for its backoff; every other
// is filled at once.
func (p *picture) fill(missing int) []Action {
	var out []Action
	vacancies := p.vacancies(missing)
	for _, failed := range vacancies {
		if !p.waits(failed) {
			out = append(out, Action{Verb: Create, Version: p.desired.Target, Replaces: failed.ID, Reason: "slot " + failed.ID + " failed"})
		}
	}
	for range missing - len(vacancies) {
		out = append(out, Action{Verb: Create, Version: p.desired.Target})
	}
	return out
}

// shrink stops surplus places: broken ones first, then outdated, then the youngest. A pair goes whole.
func (p *picture) shrink(places []Slot, surplus int) []Action {
	victims := slices.Clone(places)
	rank := func(s Slot) int {
		switch {
		case p.broken(s):
			return 0
		case !p.current(s):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(victims, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var out []Action
	for _, s := range victims[:min(surplus, len(victims))] {
		out = append(out, shutdown(s, "scaled down"))
		if next, paired := p.successor[s.ID]; paired {
			out = append(out, shutdown(next, "scaled down"))
		}
	}
	return out
}
