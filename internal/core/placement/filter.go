package placement

import (
	"cmp"
	"fmt"
	"slices"

	"tend.dev/tend/internal/core/nextstep"
)

// filter is one requirement of a node, with the words for nodes that don't meet it.
type filter struct {
	fails func(c *cluster, s *site, t Task) bool
	// alone explains it for the only node, unless that never fails it; one and many continue "1 of 3 nodes" and
	// "2 of 3 nodes".
	alone     func(c *cluster, s *site, t Task) string
	one, many func(c *cluster, t Task) string
	next      string
	// passing is set if the placing of another task may end it.
	passing bool
}

// filters are applied in this order; a node is counted for the first one it fails.
var filters = slices.Concat(fitFilters, heardFilters, roomFilters)

// fitFilters ask what a node is, whatever else runs on it.
var fitFilters = []*filter{
	runtimeFilter, // first: a node of another runtime never takes the task, however it is otherwise
	{
		fails: func(_ *cluster, s *site, _ Task) bool { return !s.Alive },
		alone: func(_ *cluster, s *site, _ Task) string { return "node " + s.ID + " does not answer" },
		one:   say("does not answer"), many: say("do not answer"),
		next: "start Tend on the node (systemctl start tend)" + nextstep.Continues,
	},
	{
		fails: func(_ *cluster, s *site, _ Task) bool { return !s.Ready },
		alone: func(_ *cluster, s *site, _ Task) string {
			return because("node "+s.ID+" is not ready", s.Message)
		},
		one: say("is not ready"), many: say("are not ready"),
		next: "tend nodes",
	},
	{
		fails: func(_ *cluster, s *site, _ Task) bool { return s.Draining },
		alone: func(_ *cluster, s *site, _ Task) string { return "node " + s.ID + " is drained" },
		one:   say("is drained"), many: say("are drained"),
		next: "add another node (tend nodes add), or end the drain: tend uncordon NODE",
	},
	{
		fails: func(_ *cluster, s *site, _ Task) bool { return s.Cordoned },
		alone: func(_ *cluster, s *site, _ Task) string { return "node " + s.ID + " is cordoned" },
		one:   say("is cordoned"), many: say("are cordoned"),
		next: "add another node (tend nodes add), or let it take pods again: tend uncordon NODE",
	},
	flapFilter,
	archFilter,
	homeFilter,
	constraintFilter,
	{
		fails: func(_ *cluster, s *site, t Task) bool { return s.MemoryBytes > 0 && t.MemoryBytes > s.MemoryBytes },
		alone: func(_ *cluster, s *site, t Task) string {
			return fmt.Sprintf("node %s lacks memory: %s asked, %s in all", s.ID, size(t.MemoryBytes), size(s.MemoryBytes))
		},
		one:  func(_ *cluster, t Task) string { return fmt.Sprintf("lacks memory (%s asked)", size(t.MemoryBytes)) },
		many: func(_ *cluster, t Task) string { return fmt.Sprintf("lack memory (%s asked)", size(t.MemoryBytes)) },
		next: "lower `resources.limits.memory` to what a node has",
	},
	{
		fails: func(_ *cluster, s *site, t Task) bool { return s.CPUs > 0 && t.CPUs > s.CPUs },
		alone: func(_ *cluster, s *site, t Task) string {
			return fmt.Sprintf("node %s lacks cores: %g asked, %g in all", s.ID, t.CPUs, s.CPUs)
		},
		one:  func(_ *cluster, t Task) string { return fmt.Sprintf("lacks cores (%g asked)", t.CPUs) },
		many: func(_ *cluster, t Task) string { return fmt.Sprintf("lack cores (%g asked)", t.CPUs) },
		next: "lower `resources.limits.cpu` to what a node has",
	},
}

// roomFilters ask what the pods on a node leave to others, or need beside them.
var roomFilters = []*filter{reservedMemoryFilter, reservedCPUsFilter, besideFilter, apartFilter, portFilter}

// flapFilter keeps tasks off a node that was lost again and again.
var flapFilter = &filter{
	fails: func(_ *cluster, s *site, _ Task) bool { return s.Losses > 0 },
	alone: func(_ *cluster, s *site, _ Task) string { return "node " + s.ID + " was " + s.flapping() },
	one: func(c *cluster, _ Task) string {
		for _, s := range c.sites {
			if s.Losses > 0 && s.Alive && s.Ready && !s.Draining && !s.Cordoned {
				return "was " + s.flapping()
			}
		}
		return "was lost again and again"
	},
	many: say("were lost again and again within an hour, and get pods later"),
	next: "wait, or let it take pods at once: tend uncordon NODE",
}

func (s *site) flapping() string {
	text := fmt.Sprintf("lost %d times within an hour", s.Losses)
	if s.Until.IsZero() {
		return text
	}
	return text + ", and gets pods again at " + s.Until.UTC().Format("15:04:05 UTC")
}

var portFilter = &filter{
	fails: func(_ *cluster, s *site, t Task) bool { return s.clash(t, t.ignored()) != nil },
	alone: func(_ *cluster, s *site, t Task) string {
		held := s.clash(t, t.ignored())
		return fmt.Sprintf("port %d of node %s is held by %s", held.Number, s.ID, cmp.Or(held.by.Name, "pod "+held.by.ID))
	},
	one: say("has the host port taken"), many: say("have the host port taken"),
	next: "change `ports`, or stop what holds the port",
}

func say(words string) func(*cluster, Task) string {
	return func(*cluster, Task) string { return words }
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// refuses returns the first filter that a node fails for a task, or nil.
func (c *cluster) refuses(s *site, t Task) *filter { return c.firstFailed(filters, s, t) }

func (c *cluster) firstFailed(among []*filter, s *site, t Task) *filter {
	for _, f := range among {
		if f.fails(c, s, t) {
			return f
		}
	}
	return nil
}

// ignored returns the tasks whose ports and reservations don't conflict: those that will have stopped before this one
// starts.
func (t Task) ignored() [2]string {
	if t.After == "" {
		return [2]string{}
	}
	return [2]string{t.After, t.Replaces}
}
