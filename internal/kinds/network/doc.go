// Package network holds the kind of the network between the containers of nodes. Its step gives each node a subnet (see
// internal/core/subnet), and reports in the network's status which nodes are connected. The nodes do the rest
// (internal/node/overlay).
package network
