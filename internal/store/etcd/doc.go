// Package etcd is the Store on an embedded etcd: one member in this process, called without a network hop.
//
// It decides how etcd is run (sockets, ticks, quota, compaction, what a full disk means) and nothing about what is
// stored. Only this package imports etcd.
package etcd
