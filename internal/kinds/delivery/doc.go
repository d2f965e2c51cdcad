// Package delivery is the kind of webhook calls. Its steps ask for the calls whose records are in the store, ask again
// after failures that may pass, and delete the record of a call an hour after the call ended.
//
// A call is made off the workers, and its outcome is recorded when it ends. So a receiver that doesn't answer blocks
// nothing: no worker, no rollout and no other receiver. At most calls.MaxPerHost calls go to one host at a time. The
// record holds neither address nor headers, which may be secrets: they are read from the object's current spec when the
// call is made. A hook that was removed meanwhile is not called.
//
// Calls are made at least once. A crash between a call and the record of its outcome repeats it under the same
// Idempotency-Key. internal/core/webhook decides what a call contains and what an answer means. Options.Call hides the
// socket.
package delivery
