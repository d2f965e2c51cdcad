package rollout

// freeze stops the slots that a person froze.
func (p *planner) freeze() {
	for _, s := range p.live {
		if p.iced[s.ID] {
			p.stop(s, "frozen by a person")
		}
	}
}

// findIced finds the live slots of frozen places. The operator meant the place, so the slot that followed a frozen one
// stops too, and both halves of a pair do.
func (p *planner) findIced() {
	if len(p.frozen) == 0 {
		return
	}
	for _, s := range p.live {
		if !p.frozen[s.ID] && !p.frozen[s.Replaces] {
			continue
		}
		p.iced[s.ID] = true
		if next := p.successor[s.ID]; next != nil {
			p.iced[next.ID] = true
		}
		if p.successor[s.Replaces] == s {
			p.iced[s.Replaces] = true
		}
	}
}
