// Package authority issues the certificates with which a cluster's servers and nodes identify each other. A certificate
// says which node it belongs to. Other packages decide what a node may do.
package authority
