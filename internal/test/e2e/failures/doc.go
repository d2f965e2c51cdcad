// Package failures holds what a person sees when something goes wrong: a script for each failure, with the whole output
// of the commands on a screen of 80 columns.
//
// The scripts run the real binary. Its server runs plain processes, or a simulated engine where a failure needs an
// engine that refuses; those that need Docker have the build tag integration. They share few servers, each in a scope
// of its own. What differs from run to run (ids, times, ports, counts of a loop) is replaced in the output. Run with
// -update to write down what is printed now, and read the difference. A screen on which the terminal would have to
// break a word is neither recorded nor accepted.
package failures
