// Package recovery keeps a panic from ending the process. It logs the panic, counts it in tend_recovered_panics_total,
// and lets everything else go on.
//
// Goroutines of the server and of the agent are started by Go or by a Group, and work that must never stop runs in
// Keep:
//
//	var running recovery.Group
//	running.Go(func() { _ = recovery.Keep(ctx, v.Run) })
//	err := recovery.Call(func() error { return listener(change) }, "store_key", change.Key)
//
// A test (internal/test/arch) refuses a bare go statement in such code. The package decides nothing about what
// panicked: its caller chooses what an error means. Some faults end a process regardless: a stack without end, two
// goroutines that write one map, and memory that runs out.
package recovery
