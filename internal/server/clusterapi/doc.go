// Package clusterapi is the server's half of the protocol by which operators of Kubernetes clusters get their jobs
// (api/pull): they register, ask for jobs, acknowledge them, and report what becomes of them.
//
// Every server of a cluster answers alike: all state is in the store, and each request is decided from a snapshot that
// has what any server has stored before. What an answer means is decided by internal/core/clusterjob. Tokens are stored
// as hashes; a token is a cluster's own, and reads and writes nothing of another one.
//
// A request for jobs waits for one, and is woken by the view; it holds nothing but its connection. The package makes no
// jobs and writes no status: the controllers do.
//
//	mux.Handle(pull.Prefix, clusterapi.New(clusterapi.Options{
//		Store: store, View: view, Fresh: reader.Fresh, MAC: keys.HMAC,
//	}))
package clusterapi
