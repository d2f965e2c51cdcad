package membership

import (
	"cmp"

	"tend.dev/tend/api/pattern"
)

// name matches the names that servers and nodes may have: they end up in keys, labels and the host part of addresses.
var name = pattern.Lazy(`^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?$`)

// ValidName reports whether a server or a node may have a name.
func ValidName(text string) bool { return name().MatchString(text) }

// NameRule describes the valid names, for messages.
const NameRule = "letters, digits, dots, hyphens and underscores, at most 63, the first and last a letter or a digit"

// earlyName is the name that earlier versions gave to the first server of a cluster.
const earlyName = "tend-0"

// NameOf returns what a server is called: the flag counts, then what its root remembers, then the machine's name. A
// root that has a store and remembers no name is of an earlier version.
func NameOf(flag, remembered string, store bool, machine string) string {
	if store {
		machine = earlyName
	}
	return cmp.Or(flag, remembered, machine, "server")
}

// Node is a node's name, and the machine that has it.
type Node struct {
	Name string
	// Server is set for the node of a server, Agent for one that joined by itself; neither if it is free.
	Server string
	Agent  bool
}

// holder returns the server that has a node's name. A server that is in the cluster no more has none.
func (n Node) holder(servers []Server) string {
	for _, s := range servers {
		if n.Server != "" && s.Name == n.Server {
			return n.Server
		}
	}
	return ""
}

// CheckNode refuses the name of a server's own node if another machine's node has it. No two servers have one name, and
// no two nodes; a server and a node may: on one machine they do, also where the node is an agent of its own. A server
// without an agent has no node.
func CheckNode(server string, node Node, servers []Server) *RefusalError {
	switch holder := node.holder(servers); {
	case node.Name == "":
		return nil
	case node.Agent:
		return &RefusalError{"another machine is node " + node.Name + " of this cluster",
			"choose another --node; if it is this machine: tend drain " + node.Name +
				", tend nodes remove " + node.Name + ", then join again"}
	case holder != "" && holder != server:
		return &RefusalError{node.Name + " is the node of server " + holder, "choose another --node"}
	}
	return nil
}

// CheckAgent refuses the name of a node that joins by itself if it is that of a server's own node.
func CheckAgent(node Node, servers []Server) *RefusalError {
	if holder := node.holder(servers); holder != "" {
		return &RefusalError{node.Name + " is the node of server " + holder,
			"choose another name with --node; if this machine was that server: tend servers remove " + holder}
	}
	return nil
}
