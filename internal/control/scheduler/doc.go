// Package scheduler assigns nodes to the tasks that wait for one: those that found no room when they were created, or
// were created by several steps at once. It asks internal/control/board, and commits every choice at once.
//
// It sets Node only where it is empty, and writes nothing else but where data is.
package scheduler
