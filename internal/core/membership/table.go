package membership

import "strings"

// Command is an action of a person, or of the cluster itself, on a server.
type Command string

// The commands about servers.
const (
	// Join: tend server --join with an empty root, under the server's name and at its address.
	Join Command = "join"
	// JoinElsewhere: the same under its name, at another address.
	JoinElsewhere Command = "join under its name, elsewhere"
	// JoinRenamed: the same under another name, at its address.
	JoinRenamed Command = "join at its address, renamed"
	// Start: tend server with the root as it was left.
	Start Command = "start"
	// StartWiped: the same with a root that has lost the store.
	StartWiped Command = "start without its store"
	// Remove: tend servers remove, at another server.
	Remove Command = "remove"
	// RemoveAtItself: tend servers remove, at the server that is to be removed.
	RemoveAtItself Command = "remove, at itself"
	// Replace: tend servers remove at another server, then tend server --join under its name and at its address, on a
	// new machine.
	Replace Command = "replace"
	// Promote: the other servers look whether it can have a vote.
	Promote Command = "promote"
	// Expire: it has not gone on with its join for as long as one may take.
	Expire Command = "expire"
	// Restore: tend restore with its root, once it is stopped, and tend server.
	Restore Command = "restore"
	// RestoreForced: the same with --force.
	RestoreForced Command = "restore --force"
	// BecomeAgent: tend agent --join with its root.
	BecomeAgent Command = "become an agent"
)

// Commands are all commands, in the order of the documentation.
var Commands = []Command{Join, JoinElsewhere, JoinRenamed, Start, StartWiped, Remove, RemoveAtItself, Replace, Promote,
	Expire, Restore, RestoreForced, BecomeAgent}

// Effect is the result of a command.
type Effect string

// The effects of commands.
const (
	Nothing  Effect = "nothing"
	Founds   Effect = "founds a cluster"
	Joins    Effect = "joins"
	GoesOn   Effect = "goes on"
	Leaves   Effect = "is removed"
	Votes    Effect = "gets its vote"
	Replaced Effect = "is replaced"
	// Alone: it has a store of its own from then on, without the other servers, and is paused.
	Alone   Effect = "is alone, paused"
	Agent   Effect = "is a node"
	Refused Effect = "refused"
)

// Rule is the effect of a command on a server in a state. Why and Next are of a refusal: {server} and {address} stand
// for the one that the command is about, {holder} and {at} for the one that is in its way, {root} for the root.
type Rule struct {
	Effect Effect
	// Named is the name of a refusal, for the documentation.
	Named     string
	Why, Next string
}

// The refusals.
var (
	lostStore = Rule{Refused, "it is there already",
		"server {server} at {at} is in the cluster already, and this machine does not have its store: it would vote without what it had promised to keep",
		"start it with the root that it had; if that is lost: tend servers remove {server}, then join again"}
	taken = Rule{Refused, "its name is taken",
		"a server called {server} is there already, at {at}",
		"choose another --name; if that server is lost: tend servers remove {server}, then join again"}
	thatOne = Rule{Refused, "it is the only one",
		"server {server} at {at} is in the cluster already, and this machine does not have its store: it would vote without what it had promised to keep",
		"give another --name and another --peer-listen"}
	takenByOne = Rule{Refused, "the only one has its name",
		"a server called {server} is there already, at {at}", "choose another --name"}
	occupiedByOne = Rule{Refused, "the only one has its address",
		"{address} is the address of server {holder}", "give another --peer-listen"}
	takenOutside = Rule{Refused, "its name is in use",
		"a server called {server} is there already, at {at}",
		"choose another --name; if that server is lost: tend nodes remove its node, then join again"}
	busy = Rule{Refused, "one at a time",
		"another server joins at this moment, at {at}, and has no vote yet",
		"wait until tend servers shows that it votes; if it never started: tend servers remove its name there"}
	occupied = Rule{Refused, "its address is taken",
		"{address} is the address of server {holder}",
		"give another --peer-listen; if that server is lost: tend servers remove {holder}, then join again"}
	wiped = Rule{Refused, "its store is lost",
		"{root} was that of server {server}, and has lost its store: it would vote without what it had promised to keep",
		"at another server: tend servers remove {server}; then join with an empty --root (tend nodes add --server prints the command). " +
			"If there is no other server: tend restore"}
	gone = Rule{Refused, "it was removed",
		"this server was removed from its cluster (tend servers remove); what its node runs goes on",
		"to be a server again, join with an empty --root (tend nodes add --server prints the command); " +
			"to be a node alone: tend agent --join with this --root (tend nodes add)"}
	unknown = Rule{Refused, "no such server", "no server is called {server}", "tend servers lists them"}
	only    = Rule{Refused, "the only one", "{server} is the only server that votes: the cluster would have no store",
		"tend servers; to move it, join another server first"}
	itself = Rule{Refused, "it is asked itself", "{server} is this server itself",
		"at another server: tend servers remove {server}"}
	outside = Rule{Refused, "etcd knows no servers",
		"the store is an external etcd, which knows no servers: one that is stopped is in no list any more",
		"stop tend server on that machine; for its node: tend drain, then tend nodes remove"}
	used = Rule{Refused, "its root is used", "this root is in use",
		"give an empty --root; to restore there all the same, stop all servers and add --force"}
	serves = Rule{Refused, "it is a server",
		"{root} is that of server {server}, which is not removed: its server runs the agent of this machine too",
		"give another --root; to make a node of it: tend servers remove {server} at another server (join one first if it is the only one), " +
			"and start tend server here once, which learns of it"}
	servesOutside = Rule{Refused, "it is a server of an external etcd",
		"{root} is that of server {server}, whose store is an external etcd: its server runs the agent of this machine too",
		"give an empty --root; the name of its node is free after tend drain and tend nodes remove"}
)

// Table has the effect of each command on a server in each state. The documentation has the same table. A server that
// leads, or that is down, is one that votes: no decision needs to know which of them it is.
var Table = map[Command]map[State]Rule{
	Join: {
		Absent: {Effect: Joins}, Added: {Effect: Joins}, Joining: lostStore, Voting: lostStore, Leading: lostStore,
		Down: lostStore, Only: thatOne, Removed: {Effect: Joins}, External: takenOutside,
	},
	JoinElsewhere: {
		Absent: {Effect: Joins}, Added: busy, Joining: taken, Voting: taken, Leading: taken, Down: taken, Only: takenByOne,
		Removed: {Effect: Joins}, External: takenOutside,
	},
	JoinRenamed: {
		Absent: {Effect: Joins}, Added: {Effect: Joins}, Joining: occupied, Voting: occupied, Leading: occupied,
		Down: occupied, Only: occupiedByOne, Removed: {Effect: Joins}, External: {Effect: Joins},
	},
	Start: {
		Absent: {Effect: Founds}, Added: {Effect: GoesOn}, Joining: {Effect: GoesOn}, Voting: {Effect: GoesOn},
		Leading: {Effect: GoesOn}, Down: {Effect: GoesOn}, Only: {Effect: GoesOn}, Removed: gone,
		External: {Effect: GoesOn},
	},
	StartWiped: {
		Absent: {Effect: Founds}, Added: {Effect: GoesOn}, Joining: wiped, Voting: wiped, Leading: wiped, Down: wiped,
		Only: wiped, Removed: wiped, External: {Effect: GoesOn},
	},
	Remove: {
		Absent: unknown, Added: {Effect: Leaves}, Joining: {Effect: Leaves}, Voting: {Effect: Leaves},
		Leading: {Effect: Leaves}, Down: {Effect: Leaves}, Only: only, Removed: unknown, External: outside,
	},
	RemoveAtItself: {
		Absent: {Effect: Nothing}, Added: {Effect: Nothing}, Joining: {Effect: Nothing}, Voting: itself,
		Leading: itself, Down: {Effect: Nothing}, Only: only, Removed: {Effect: Nothing}, External: outside,
	},
	Replace: {
		Absent: unknown, Added: {Effect: Replaced}, Joining: {Effect: Replaced}, Voting: {Effect: Replaced},
		Leading: {Effect: Replaced}, Down: {Effect: Replaced}, Only: only, Removed: unknown, External: outside,
	},
	Promote: {
		Absent: {Effect: Nothing}, Added: {Effect: Nothing}, Joining: {Effect: Votes}, Voting: {Effect: Nothing},
		Leading: {Effect: Nothing}, Down: {Effect: Nothing}, Only: {Effect: Nothing}, Removed: {Effect: Nothing},
		External: {Effect: Nothing},
	},
	Expire: {
		Absent: {Effect: Nothing}, Added: {Effect: Leaves}, Joining: {Effect: Leaves}, Voting: {Effect: Nothing},
		Leading: {Effect: Nothing}, Down: {Effect: Nothing}, Only: {Effect: Nothing}, Removed: {Effect: Nothing},
		External: {Effect: Nothing},
	},
	Restore: {
		Absent: {Effect: Alone}, Added: used, Joining: used, Voting: used, Leading: used, Down: used, Only: used,
		Removed: used, External: used,
	},
	RestoreForced: {
		Absent: {Effect: Alone}, Added: {Effect: Alone}, Joining: {Effect: Alone}, Voting: {Effect: Alone},
		Leading: {Effect: Alone}, Down: {Effect: Alone}, Only: {Effect: Alone}, Removed: {Effect: Alone},
		External: {Effect: Alone},
	},
	BecomeAgent: {
		Absent: {Effect: Agent}, Added: serves, Joining: serves, Voting: serves, Leading: serves, Down: serves,
		Only: serves, Removed: {Effect: Agent}, External: servesOutside,
	},
}

// Subject fills the texts of a rule.
type Subject struct {
	Server, Address string
	// Holder is the server that is in its way.
	Holder Server
	Root   string
}

// RefusalError is an error that says why a command is refused, and what to do instead.
type RefusalError struct{ Why, Next string }

// Error implements error, in two lines.
func (r *RefusalError) Error() string { return r.Why + "\n  " + r.Next }

// Decide returns what a command does to a server in a state. It returns a RefusalError if it does nothing.
func Decide(command Command, state State, about Subject) (Effect, *RefusalError) {
	rule := Table[command][state]
	if rule.Effect != Refused {
		return rule.Effect, nil
	}
	fill := strings.NewReplacer("{server}", about.Server, "{address}", about.Address, "{holder}", about.Holder.Name,
		"{at}", about.Holder.Address, "{root}", about.Root)
	return Refused, &RefusalError{Why: fill.Replace(rule.Why), Next: fill.Replace(rule.Next)}
}
