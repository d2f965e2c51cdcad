// Package test holds what tests all of Tend from outside: the simulation, stories on real engines and hosts, histories,
// mutants, failpoints, and the rules of the sources (arch).
//
// The product knows none of it, except that the commands link the failpoints if they are built with that tag.
package test
