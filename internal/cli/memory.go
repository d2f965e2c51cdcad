package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// gcPercent is the heap growth, in percent, that triggers a collection in a server or an agent. With Go's default of
// 100 a server with 50,000 pods takes a fifth more memory, and a fifth less processor time while all of them start.
const gcPercent = 40

// A process that starts collects nothing before it has taken startMemory bytes or startTime has passed: while the heap
// is small there are many collections, which take a quarter of a start's processor time and find little.
const (
	startMemory = 128 << 20
	startTime   = 2 * time.Second
)

// spareMemory has the garbage collector of this process run at gcPercent once it has started, unless the variable GOGC
// says otherwise, and ends the profile of allocations, which nothing reads.
func spareMemory() {
	runtime.MemProfileRate = 0
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(startMemory)
	started := sync.OnceFunc(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(gcPercent)
	})
	// The first collection, which the limit begins, finds that nothing refers to this:
	runtime.AddCleanup(&struct{ _ [64]byte }{}, func(started func()) { started() }, started)
	time.AfterFunc(startTime, func() {
		started()
		debug.FreeOSMemory()
	})
}
