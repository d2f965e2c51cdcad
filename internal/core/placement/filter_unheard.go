package placement

// A node that no server hears may be about to be lost, so it gets a task only if no other node could. Another one could
// if it is alive and fits, whatever runs on it: room comes and goes within seconds, as silence does, and a task that
// waits for either starts no later than on a node that may be dead, and binds no data to that. Two silent nodes could
// each take what the other could; the first one that is heard gets it.
//
// A server that was just started has heard no node. While one of those that could take a task may be about to beat, it
// places the task nowhere: else the first node that is heard would get all that waits.

// heardFilters come after fitFilters, so they see only nodes that fit.
var heardFilters = []*filter{unheardFilter, awaitFilter}

// unheardFilter keeps tasks off a node that no server hears.
var unheardFilter = &filter{
	fails: func(c *cluster, s *site, t Task) bool { return s.Unheard && c.takersOf(t).count > 1 },
	one: func(c *cluster, t Task) string {
		s := c.takersOf(t).unheard
		return "(" + s.ID + ") " + s.unheard()
	},
	many: func(c *cluster, t Task) string {
		if c.takersOf(t).awaited {
			return "have not been heard since their server was started"
		}
		return "have missed two heartbeats"
	},
	next: "wait: a node that is heard again gets pods at once; else start Tend on it (systemctl start tend)",
}

// awaitFilter keeps tasks off nodes that are heard while another one is awaited.
var awaitFilter = &filter{
	fails: func(c *cluster, s *site, t Task) bool { return !s.Unheard && c.awaits(t) },
	one:   say("gets no pods until the others have had time for a heartbeat"),
	many:  say("get no pods until the others have had time for a heartbeat"),
	next:  "wait: the server was started a moment ago",
}

// takers are the nodes that could take the tasks of a class, if they were heard and had room.
type takers struct {
	count   int
	unheard *site // the first one that is
	awaited bool  // one of them is
}

// takersOf returns the nodes that could take a task. Data that has its place leaves no choice: then there is only one.
func (c *cluster) takersOf(t Task) takers {
	if home, settled := c.home(t); settled {
		return takers{count: 1, unheard: c.byID[home]}
	}
	key := classKey{t.Workload, t.Demand}
	known, ok := c.takers[key]
	if ok {
		return known
	}
	for _, s := range c.sites {
		if c.firstFailed(fitFilters, s, t) != nil {
			continue
		}
		known.count++
		known.awaited = known.awaited || s.Awaited
		if s.Unheard && known.unheard == nil {
			known.unheard = s
		}
	}
	c.takers[key] = known
	return known
}

// awaits reports whether a task waits for a node that may be about to be heard. One that is the only choice gets the
// task at once.
func (c *cluster) awaits(t Task) bool {
	if !c.awaited {
		return false
	}
	of := c.takersOf(t)
	return of.awaited && of.count > 1
}

func (s *site) unheard() string {
	switch {
	case s.Awaited:
		return "has not been heard since its server was started"
	case s.LastHeard.IsZero():
		return "is heard by no server"
	}
	return "was last heard at " + s.LastHeard.UTC().Format("15:04:05 UTC")
}
