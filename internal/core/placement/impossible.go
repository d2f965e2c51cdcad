package placement

import "fmt"

// Impossible returns why no node would take a task of such a demand, however much room it had: none has its runtime, is
// as large, or meets its constraints. ok is false if one would, and while there are no nodes.
func (l *Ledger) Impossible(demand *Demand) (r Refusal, ok bool) {
	c, t := &l.cluster, Task{Demand: demand}.demanding()
	if len(c.sites) == 0 {
		return r, false
	}
	if r.noRuntime(c, t) || r.tooLarge(c, t) {
		return r, true
	}
	for _, s := range c.sites {
		if t.unmet(s) == nil {
			return r, false
		}
	}
	r.Next = constraintFilter.next
	if r.Message = constraintFilter.alone(c, c.sites[0], t); len(c.sites) > 1 {
		r.Message = fmt.Sprintf("none of %d nodes meets its constraints; %s", len(c.sites), r.Message)
	}
	return r, true
}
