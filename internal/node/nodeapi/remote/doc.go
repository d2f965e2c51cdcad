// Package remote carries the node protocol over HTTP/2 with mutual TLS. The agent dials and is never dialled: Handler
// is the server's half, Client the agent's, which keeps what the node may see in memory and follows its changes. After
// a lost connection it reconnects and continues from the revision it has.
//
// It makes no decisions: package local decides what a node may read and report.
package remote
