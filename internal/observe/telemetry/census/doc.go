// Package census counts the state of the whole cluster and its changes: pods and nodes by state, rollouts and their
// duration, changes of state, and cleanups. It reads the view, so every server of a cluster counts the same; a query
// must use one of them (max, not sum).
//
//	remove := census.Register(registry, view)
//
// It writes nothing and decides nothing.
package census
