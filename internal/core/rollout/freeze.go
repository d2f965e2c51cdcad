package rollout

// freeze stops the slots that an operator froze. A pair goes whole, and so does the slot that was to follow a frozen
// one: the operator meant the place.
func (p *picture) freeze() {
	for _, s := range p.live {
		if p.iced(s) {
			p.stop(s, "frozen by an operator")
		}
	}
}

// iced: the slot, the one it replaces or its successor is frozen.
func (p *picture) iced(s *Slot) bool {
	if len(p.frozen) == 0 {
		return false
	}
	next := p.successor[s.ID]
	return p.frozen[s.ID] || p.frozen[s.Replaces] || next != nil && p.frozen[next.ID]
}
