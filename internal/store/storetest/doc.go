// Package storetest is the contract of a store: what every backend must do, as tests it runs against itself.
//
// It decides what "a store" means beyond the types in package store. It knows no backend and reads no clock but to wait
// with a deadline.
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
//	}
package storetest
