// Package delivery is the controller of webhook calls. It makes the calls that were recorded together with their data,
// retries failures that may pass, and deletes the record of a call an hour after it ended.
//
// A call is made outside of the workers and its outcome is recorded when it ends. So a receiver that doesn't answer
// blocks nothing: no worker, no rollout, and no other receiver. At most calls.MaxPerHost calls go to one host at a time. The
// record holds neither address nor headers, which may be secrets: they are read from the object's current spec when the
// call is made, and a hook that is gone by then is not called.
//
// Calls are made at least once. A crash between a call and its record makes it again, under the same Idempotency-Key.
// internal/core/webhook decides what a call contains and what an answer means; the socket is behind Deps.Call.
package delivery
