// Package nodeapi is the protocol between the control plane and the agent of one node. Control holds what an agent may
// read and report; it is the same whether the agent runs in the server's process (package local) or elsewhere (package
// remote), and the suite in nodeapitest covers both.
//
// An agent has no other access to a server: no store, no keys, no folder of its files.
package nodeapi
