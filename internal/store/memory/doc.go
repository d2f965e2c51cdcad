// Package memory is a store in the memory of the process: for tests, simulations and benchmarks.
//
// It keeps every revision until Compact, so that old revisions can be listed and watched from as in a real backend. Its
// only clock is time.Now and timers, so it runs under testing/synctest. It never writes to disk.
//
//	s := memory.New()
//	defer s.Close()
//	revision, err := s.Commit(ctx, store.Txn{Do: []store.Op{{Key: "/a", Value: []byte("1")}}})
package memory
