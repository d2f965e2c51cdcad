// Package inprocess is the control plane as an agent in the same process sees it: reads come from the server's view,
// reports become commits.
//
// It checks that a node touches nothing but its own tasks, answers and facts, and that states only move forward, as it
// will for agents that report over the network. It decides nothing about containers.
package inprocess
