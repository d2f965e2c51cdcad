// Package host runs Tend's parts on a machine that has containers: the agent with its runtime, its builder and its
// files, the proxy, and the listener for containers that call the server back. It reaches the control plane through the
// node protocol alone, so it is the same inside a server and as a process of its own.
//
// It decides nothing about workloads; it prepares the machine's folder and starts the parts that do.
package host
