// Package network holds the kind of the network between the containers of nodes: its step gives each node a subnet (see
// internal/core/subnet), and says in the network's status which nodes are connected. The nodes do the rest
// (internal/overlay).
package network
