// Package authority issues the certificates that servers and nodes of a cluster know each other by. A certificate says who a
// node is; what it may do is for others to decide.
package authority
