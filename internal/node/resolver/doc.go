// Package resolver answers the DNS queries of this machine's containers: names of workloads with the pods that are
// ready, on any node, and all others by asking the machine's own name servers.
//
// It asks the control plane for each name and keeps the answer for a second. While the control plane is away the last
// answer stays: containers go on finding each other.
package resolver
