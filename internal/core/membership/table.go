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
	// Remove: tend servers remove.
	Remove Command = "remove"
	// Promote: the other servers look whether it can have a vote.
	Promote Command = "promote"
	// Expire: it has not gone on with its join for as long as one may take.
	Expire Command = "expire"
	// BecomeAgent: tend agent --join with its root.
	BecomeAgent Command = "become an agent"
)

// Commands are all commands, in the order of the documentation.
var Commands = []Command{Join, JoinElsewhere, JoinRenamed, Start, StartWiped, Remove, Promote, Expire, BecomeAgent}

// Effect is the result of a command.
type Effect string

// The effects of commands.
const (
	Nothing Effect = "nothing"
	Founds  Effect = "founds a cluster"
	Joins   Effect = "joins"
	GoesOn  Effect = "goes on"
	Leaves  Effect = "is removed"
	Votes   Effect = "gets its vote"
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
	serves = Rule{Refused, "it is a server",
		"{root} is that of server {server}, which is not removed: its server runs the agent of this machine too",
		"tend servers remove {server} at another server, and start tend server here once, which learns of it; or give another --root"}
)

// Table has the effect of each command on a server in each state. The documentation has the same table.
var Table = map[Command]map[State]Rule{
	Join: {
		Absent: {Effect: Joins}, Added: {Effect: Joins}, Joining: lostStore, Voting: lostStore, Only: lostStore,
		Removed: {Effect: Joins},
	},
	JoinElsewhere: {
		Absent: {Effect: Joins}, Added: busy, Joining: taken, Voting: taken, Only: taken, Removed: {Effect: Joins},
	},
	JoinRenamed: {
		Absent: {Effect: Joins}, Added: {Effect: Joins}, Joining: occupied, Voting: occupied, Only: occupied,
		Removed: {Effect: Joins},
	},
	Start: {
		Absent: {Effect: Founds}, Added: {Effect: GoesOn}, Joining: {Effect: GoesOn}, Voting: {Effect: GoesOn},
		Only: {Effect: GoesOn}, Removed: gone,
	},
	StartWiped: {
		Absent: {Effect: Founds}, Added: {Effect: GoesOn}, Joining: wiped, Voting: wiped, Only: wiped, Removed: wiped,
	},
	Remove: {
		Absent: unknown, Added: {Effect: Leaves}, Joining: {Effect: Leaves}, Voting: {Effect: Leaves},
		Only: only, Removed: unknown,
	},
	Promote: {
		Absent: {Effect: Nothing}, Added: {Effect: Nothing}, Joining: {Effect: Votes}, Voting: {Effect: Nothing},
		Only: {Effect: Nothing}, Removed: {Effect: Nothing},
	},
	Expire: {
		Absent: {Effect: Nothing}, Added: {Effect: Leaves}, Joining: {Effect: Leaves}, Voting: {Effect: Nothing},
		Only: {Effect: Nothing}, Removed: {Effect: Nothing},
	},
	BecomeAgent: {
		Absent: {Effect: Agent}, Added: serves, Joining: serves, Voting: serves, Only: serves, Removed: {Effect: Agent},
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
