// Package nodeapitest is the contract of the node protocol: what holds for every nodeapi.Control, whatever its
// transport.
package nodeapitest
