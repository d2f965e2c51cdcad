// Package histories records what people ask three servers and are answered, while the servers are killed and cut off
// from each other, and checks that every history is linearizable.
//
// The servers are processes of their own: this package's test binary, started again. Their stores reach each other
// through relays that can cut and hold each direction of each link. The answers that clients of the API see are judged
// by a model of one object: porcupine searches an order for them. It never compares the servers with each other, and
// reads no store.
//
// `make histories N=1000` records many histories; docs/contribute/testing.md says how to read a failure.
package histories
