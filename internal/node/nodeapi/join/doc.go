// Package join makes machines nodes of a cluster. The server hands out tokens that are valid for a while and name the
// cluster's authority; a machine with one gets a certificate, and renews it before it ends.
//
// The store has a token's id, for whom it is, how often it may be used and the hash of its secret: so it can be listed
// and revoked, and nobody makes one with the cluster's keys alone.
package join
