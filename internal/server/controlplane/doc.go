// Package controlplane runs the controllers of one term of leadership as a unit. Begin starts a Term, and Plane.Run
// makes every controller for it. Once another process has taken over, all of them end: nothing outlives its term.
//
// Package control decides about objects. This one doesn't.
package controlplane
