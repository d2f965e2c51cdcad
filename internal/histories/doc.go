// Package histories records what people ask three servers and are answered, while the servers are killed and cut off from each
// other, and checks that every history is linearizable.
//
// The servers are processes of their own: this package's test binary, started again. Their stores reach each other through
// relays that can cut and hold each direction of each link. What is judged is what clients of the API see, by a model of one
// object that porcupine searches an order for. It never compares the servers with each other, and reads no store.
//
// `make histories N=1000` records many histories; docs/contribute/testing.md says how to read a failure.
package histories
