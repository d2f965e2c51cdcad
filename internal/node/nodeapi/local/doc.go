// Package local is the control plane's side of the node protocol: what one node may see (the authoriser and its
// projection of the view) and what its reports become in the store. An agent in the same process uses it directly;
// package remote serves it to others.
//
// A node sees its own tasks with what they need, and writes only their observed halves, its own answers and facts;
// states only move forward. It makes no decisions about containers.
package local
