// Package delivery is the controller of webhook calls: it makes the calls that were recorded with what they tell of, tries
// again what may succeed later, and forgets a call an hour after it ended.
//
// A call is made beside the workers and its outcome recorded when it ends, so a receiver that doesn't answer holds up
// nobody: no worker, no rollout, and no other receiver. At most maxPerHost calls go to one host at a time. The record
// holds neither address nor headers, which may be secrets: they are read off the object's spec as it is when the call is
// made, and a hook that is gone by then is not called.
//
// Calls are made at least once. A crash between a call and its record makes it again, under the same Idempotency-Key. How
// a call looks and what an answer means is internal/core/webhook's to decide; the socket is behind Deps.Call.
package delivery
