package placement

import (
	"maps"
	"slices"
)

// Refuse returns the refusals if more tasks came after those that wait, all of them together.
func (l *Ledger) Refuse(tasks []Task) (refused []Refusal) {
	l.Plan()
	homes := l.cluster.homes
	l.cluster.homes = maps.Clone(homes)
	l.forget()
	var placed []taken
	for _, t := range tasks {
		t = t.demanding()
		if on := l.place(t); on != nil {
			placed = append(placed, taken{on, t})
		} else {
			refused = append(refused, l.refuse(t))
		}
	}
	for _, t := range slices.Backward(placed) {
		t.untake(t.by)
		delete(l.given, t.by.ID)
	}
	l.cluster.homes = homes
	l.forget()
	return refused
}

// Takes reports whether a node would take a task now, after those that wait.
func (l *Ledger) Takes(t Task, node string) bool {
	l.Plan()
	on := l.byID[node]
	return on != nil && l.refuses(on, t.demanding()) == nil
}

// forget drops what was computed from the tasks on the nodes: some are gone again.
func (c *cluster) forget() {
	clear(c.classes)
	clear(c.spreads)
}
