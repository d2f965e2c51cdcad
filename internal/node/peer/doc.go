// Package peer connects a server with the other servers of its cluster: the certificates with which their stores reach
// each other, and the files that one copies from another.
//
// The authority of these certificates is apart from that of nodes, and every server has its key: a server may write the
// whole store, a node may not.
package peer
