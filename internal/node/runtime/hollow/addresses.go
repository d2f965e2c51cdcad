package hollow

import (
	"math/rand/v2"
	"strconv"

	"tend.dev/tend/internal/node/runtime"
)

// dealLocked returns the next free address of a machine. All machines use the same addresses.
func (e *Engine) dealLocked(node string) string {
	e.dealt[node]++
	n := e.dealt[node]
	return "10." + strconv.Itoa(n>>16&255) + "." + strconv.Itoa(n>>8&255) + "." + strconv.Itoa(n&255)
}

// ShuffleAddresses reassigns the addresses of the containers of each machine, as an engine may after a restart. Running
// containers keep theirs: call it while the engine is stopped.
func (e *Engine) ShuffleAddresses(random *rand.Rand) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var idle []*container
	for _, c := range e.sortedLocked() {
		if !c.alive() {
			idle = append(idle, c)
		}
	}
	random.Shuffle(len(idle), func(i, j int) {
		if idle[i].node() == idle[j].node() {
			idle[i].address, idle[j].address = idle[j].address, idle[i].address
		}
	})
}

// At returns the container that has an address on a machine now; false if none has.
func (e *Engine) At(node, address string) (runtime.Container, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.containers {
		if address != "" && c.node() == node && c.liveAddress() == address {
			return c.view(), true
		}
	}
	return runtime.Container{}, false
}

// ByID returns a container by the engine's id, running or not.
func (e *Engine) ByID(id string) (runtime.Container, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[id]; c != nil {
		return c.view(), true
	}
	return runtime.Container{}, false
}
