// Package storefault wraps a store so that commits end with store.ErrUnknownOutcome, as they do when etcd's disk
// stalls, a connection is cut or the leader changes.
//
// A test decides the fate of each commit: Answered passes it through; Lost never applies it; Unanswered applies it at
// once and loses the answer; Late applies it after a number of further commits or after a time, if its preconditions
// hold then, whatever its writer decided meanwhile. Reads pass through and show nothing that is still queued, which
// makes a late commit dangerous.
//
//	s := storefault.New(memory.New(), func(txn store.Txn) storefault.Fate {
//		if txn.Site == "deployment.create" {
//			return storefault.Late(2) // applied after two more commits
//		}
//		return storefault.Answered
//	})
//	…
//	s.Flush() // whatever is still queued reaches the store now
//
// It does not decide what is right afterwards.
package storefault
