// Package storetest is the contract of a store: what every backend must do, as tests that it runs on itself.
//
// It defines what a store is beyond the types in package store. It knows no backend and reads the clock only to wait
// with a deadline.
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
//	}
package storetest
