// Package member runs the agent as a process of its own (tend agent). The machine joins a cluster with a token, renews
// its certificate, and runs a host that reaches the servers over the network.
//
// It never decides about containers: internal/node/host runs the parts that do, and internal/node/nodeapi/join makes
// and checks the tokens.
package member
