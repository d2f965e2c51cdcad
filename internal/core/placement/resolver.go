package placement

import (
	"hash/fnv"
	"slices"
)

// Progress is a node's progress with an image that was requested.
type Progress int

// The stages of an image on a node.
const (
	Untried Progress = iota
	Failed
	Working
	Present
)

// Resolver is a node that could find out which image a reference names: pull it, or build it.
type Resolver struct {
	Node string
	// Alive reports whether its agent answers.
	Alive    bool
	Progress Progress
	// Runs is set if the node has tasks of the image's owner.
	Runs bool
	// Silent is set if the node was asked for a while and gave no sign, Aside if a person wants nothing new on it:
	// such ones are asked if there is no other.
	Silent, Aside bool
	// Plain is set if the node runs plain processes: it is asked for what may run on either kind only if no node with
	// containers is.
	Plain bool
}

// Resolvers returns the nodes that answer the request for an owner's image. One is enough, and where it has answered,
// it remains the one, alive or not: a tag may name another image elsewhere. A node that failed retries, and another one
// tries too, until one of them has the image.
func Resolvers(owner string, nodes []Resolver) (asked []string) {
	var chosen *Resolver
	for i, n := range nodes {
		if n.Progress == Failed && n.Alive {
			asked = append(asked, n.Node)
		} else if (n.Alive && n.Progress != Failed || n.Progress == Present) && (chosen == nil || n.before(*chosen, owner)) {
			chosen = &nodes[i]
		}
	}
	if chosen != nil && chosen.Progress == Present {
		return []string{chosen.Node}
	}
	if chosen != nil {
		asked = append(asked, chosen.Node)
	}
	slices.Sort(asked)
	return asked
}

// Answer returns which of several nodes that have an image is asked about it, and whose answer counts: they may differ
// where a tag names another image on each, and what others have said may be old.
func Answer(owner string, present []string) string {
	var nodes []Resolver
	for _, node := range present {
		nodes = append(nodes, Resolver{Node: node, Progress: Present})
	}
	if asked := Resolvers(owner, nodes); len(asked) > 0 {
		return asked[0]
	}
	return ""
}

// before reports whether n is asked rather than other: the one that has come further, then one that hasn't been asked
// in vain, one that isn't set aside, one that runs the owner's tasks, and one with containers; a rendezvous hash
// spreads the owners over the rest. Of those that have the image it is always the same one.
func (n Resolver) before(other Resolver, owner string) bool {
	if n.Progress != other.Progress {
		return n.Progress > other.Progress
	}
	if n.Progress == Untried && n.Silent != other.Silent {
		return other.Silent
	}
	if n.Progress == Untried && n.Aside != other.Aside {
		return other.Aside
	}
	if n.Runs != other.Runs && n.Progress != Present {
		return n.Runs
	}
	if n.Progress == Untried && n.Plain != other.Plain {
		return other.Plain
	}
	return n.weight(owner) > other.weight(owner)
}

func (n Resolver) weight(owner string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(owner + "\x00" + n.Node))
	return sum.Sum64()
}
