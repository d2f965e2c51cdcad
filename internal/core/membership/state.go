package membership

import "slices"

// State is the state of a server in its cluster.
type State string

// The states of servers.
const (
	// Absent: no server has the name or the address.
	Absent State = "absent"
	// Added: it was admitted, and its store has never started. The others don't know its name yet.
	Added State = "added"
	// Joining: its store has started, and has no vote yet.
	Joining State = "joining"
	// Voting: it is one of several that vote, up or down. The members of the store say no more.
	Voting State = "voting"
	// Leading: it votes, and the controllers run on it.
	Leading State = "leading"
	// Down: it votes, and its process doesn't run.
	Down State = "down"
	// Only: it is the only one that votes.
	Only State = "only"
	// Removed: a person took it out, or its join was undone.
	Removed State = "removed"
	// External: it runs, and the store is an external etcd, which has no members of servers.
	External State = "on an external etcd"
)

// States are all states, in the order of a server's life.
var States = []State{Absent, Added, Joining, Voting, Leading, Down, Only, Removed, External}

// Server is a server as the members of the store know it.
type Server struct {
	// Name is empty until its store has started.
	Name string
	// Address is the address of its store for the other servers; if the store is an external etcd, that for nodes.
	Address string
	Voting  bool
	// External: it has no store of its own.
	External bool
}

// state returns the state of one of the servers.
func (s Server) state(all []Server) State {
	switch {
	case s.External:
		return External
	case s.Name == "":
		return Added
	case !s.Voting:
		return Joining
	}
	for _, other := range all {
		if other.Voting && other != s {
			return Voting
		}
	}
	return Only
}

// StateOf returns the state of the server of a name; Absent if none has it. A server that has not started is known by
// its address alone.
func StateOf(all []Server, name string) State {
	i := slices.IndexFunc(all, func(s Server) bool { return s.Name == name || s.Name == "" && s.Address == name })
	if i < 0 {
		return Absent
	}
	return all[i].state(all)
}

// Asked returns with which command a machine asks to join, and the state of the server that it would be or that is in
// its way, which is holder.
func Asked(all []Server, name, address string) (as Command, state State, holder Server) {
	for _, s := range all {
		switch {
		case s.Name == name && s.Address == address, s.Name == "" && s.Address == address:
			return Join, s.state(all), s
		case s.Name == name:
			return JoinElsewhere, s.state(all), s
		case s.Address == address && address != "":
			return JoinRenamed, s.state(all), s
		}
	}
	for _, s := range all {
		if !s.Voting && !s.External {
			return JoinElsewhere, Added, s // etcd has one learner at a time
		}
	}
	return Join, Absent, Server{}
}
