// Package node holds the values that pass between the control plane and the agent of one node, whichever transport
// carries them: what the node should run and serve, and what it reports.
//
// A node gets what its own tasks need and nothing else; internal/node/nodeapi decides what that is. Values with secrets
// in plain text (Release, Registry, Certificate) say so: they are sent over authenticated connections alone and stored
// nowhere.
package node
