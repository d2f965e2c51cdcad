// Package restart decides what a container's restart policy does when its process ended: whether it is started again,
// and after how long a wait. It follows docker's rules, so that a container behaves the same on every runtime.
//
// It never starts anything and reads no clock: the runtimes without an engine of their own (process, hollow) act on its
// decisions.
package restart
