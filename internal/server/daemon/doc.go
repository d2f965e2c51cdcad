// Package daemon is the server process: it starts the parts in order (store, keys, view, controllers, API, this machine
// as a node, the listener for nodes, HTTP), stops them in reverse, and bounds every wait.
//
// It decides nothing about workloads; it wires the parts that do. It also keeps what belongs to the servers themselves:
// the members, the tokens with which machines join, the pause after a restore, and the keys.
package daemon
