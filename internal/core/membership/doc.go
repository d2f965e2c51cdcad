// Package membership decides who is a server: what a command does to a server of a cluster, whatever state it is in,
// and whose a name is. It changes nothing, and asks nobody.
//
// A server joins without a vote, as what etcd calls a learner: the others decide without it. It gets a vote once its
// store has caught up and it has opened all that it needs. So a join that fails, at whatever step, takes no quorum
// away.
package membership
