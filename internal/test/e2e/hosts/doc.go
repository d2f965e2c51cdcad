// Package hosts tests clusters of several hosts on one machine: each host is a network namespace with a Docker engine
// of its own, and all are connected by a switch in another namespace, where links are cut and packets read.
package hosts
