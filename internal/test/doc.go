// Package test holds what tests all of Tend from outside: the simulation, stories on real engines and hosts, histories,
// mutants, failpoints, and the rules of the sources (arch).
//
// A test here looks at what a user or a machine sees, and never compares Tend with itself. What one package decides is
// tested beside that package.
//
// The product knows none of it, except that the commands link the failpoints if they are built with that tag.
package test
