package session

import "tend.dev/tend/internal/node/nodeapi"

// Messages returns the patterns of all messages that a node answers.
func Messages(n nodeapi.Node) []string { return (&server{node: n}).routes().Patterns() }
