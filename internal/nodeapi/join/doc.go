// Package join makes machines nodes of a cluster. The server hands out tokens that are valid for a while and name the
// cluster's authority; a machine with one gets a certificate, and renews it before it ends.
//
// A token is not stored: it proves by a keyed hash that this cluster made it. So it may be used for several machines
// until it ends.
package join
