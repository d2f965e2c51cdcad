// Package census counts what the cluster as a whole looks like and does: pods and nodes by state, rollouts and how long
// they took, states that changed, records that were cleaned up. It reads the view, and so every server of a cluster counts
// the same; a query takes one of them (max, not sum).
//
//	remove := census.Register(registry, view)
//
// It writes nothing and decides nothing.
package census
