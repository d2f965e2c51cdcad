package placement

import "slices"

// unheardFilter keeps tasks off a node that may be about to be lost.
var unheardFilter = &filter{
	fails: func(c *cluster, s *site, _ Task) bool { return s.passedOver(len(c.sites)) },
	alone: func(_ *cluster, s *site, _ Task) string { return "node " + s.ID + " " + s.unheard() },
	one: func(c *cluster, t Task) string {
		i := slices.IndexFunc(c.sites, func(s *site) bool { return s.Unheard && s.Alive && t.Need.Takes(s.Runtime) })
		return "(" + c.sites[i].ID + ") " + c.sites[i].unheard()
	},
	many: say("have missed two heartbeats"),
	next: "wait: a node that is heard again gets pods at once; else start Tend on it (systemctl start tend)",
}

// passedOver reports whether a node, of so many, gets no tasks because it is unheard. The only one gets them all the
// same: they can't run anywhere else, and it starts them once it is back.
func (n Node) passedOver(nodes int) bool { return n.Unheard && nodes > 1 }

func (s *site) unheard() string {
	if s.LastHeard.IsZero() {
		return "is heard by no server"
	}
	return "was last heard at " + s.LastHeard.UTC().Format("15:04:05 UTC")
}
