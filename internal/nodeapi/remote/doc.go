// Package remote carries the node protocol over HTTP/2 with mutual TLS. The agent dials and is never dialled: Handler is the
// server's half, Client the agent's, which keeps what the node may see in memory and follows its changes. After a cut
// it connects again and goes on from the revision it has.
//
// It decides nothing: what a node may see and say is package local's.
package remote
