// Package member is the agent as a process of its own: a machine that joins a cluster with a token, keeps its
// certificate, and runs a host that reaches its server over the network.
package member
