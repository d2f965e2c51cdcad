// Package node holds what runs on a machine that has containers: its agent and runtimes, its proxy, its network, its
// names, and the node protocol through which it reaches a server.
//
// It decides how a container comes to be as it should (by core/healing), never what should run. It reads and writes the
// state of the cluster through the node protocol alone.
package node
