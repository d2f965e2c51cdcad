// Package access decides which calls of the API a person, or a program, may make: by the role and the scopes of the
// access token. The rules are one table, with a row for each route; a route without a row is for admins alone.
//
// It reads no token and finds no object: internal/server asks it before each route, with the scope that the call is
// about. What a deployer may declare in an object is decided in internal/core/source, by the rules of a sync that is
// not trusted.
//
//	if refused := access.Rules.Allow(grant, access.Call{Route: "POST /v1/backup"}); refused != nil { … }
package access
