// Package controlplane runs the controllers of one term of leadership as a unit: Begin starts a Term, Plane.Run makes
// every controller for it, and once another process has taken over all of them end. Nothing of a term outlives it.
//
// It makes no decisions about objects; package control does.
package controlplane
