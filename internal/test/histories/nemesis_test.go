//go:build integration

package histories

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// nemesis causes one fault after the other in three servers, and undoes each.
type nemesis struct {
	trio   *trio
	random *rand.Rand
	only   string // the only fault to cause; empty means any
	stop   chan struct{}
	wait   sync.WaitGroup

	mu  sync.Mutex
	did map[string]int
}

// harm causes a fault and returns the function that undoes it.
type harm struct {
	name string
	do   func(n *nemesis) (heal func())
}

var harms = []harm{
	{"kill one", func(n *nemesis) func() { return n.kill(n.one()) }},
	{"kill the leader", func(n *nemesis) func() { return n.kill(n.leader()) }},
	{"kill two", func(n *nemesis) func() { return n.kill(n.shuffled()[:2]...) }},
	{"kill all", func(n *nemesis) func() { return n.kill(n.trio.names...) }},
	{"cut one off", func(n *nemesis) func() { return n.links(n.trio.network.cut, n.trio.links(n.one())...) }},
	{"cut the leader off", func(n *nemesis) func() { return n.links(n.trio.network.cut, n.trio.links(n.leader())...) }},
	{"cut all off", func(n *nemesis) func() {
		all := n.shuffled()
		return n.links(n.trio.network.cut, append(n.trio.links(all[0]), n.trio.links(all[1])...)...)
	}},
	{"cut two apart", func(n *nemesis) func() {
		two := n.shuffled()
		return n.links(n.trio.network.cut, link{two[0], two[1]}, link{two[1], two[0]})
	}},
	{"hold the links of one", func(n *nemesis) func() { return n.links(n.trio.network.held, n.trio.links(n.one())...) }},
	{"hold what one hears", func(n *nemesis) func() {
		all := n.shuffled()
		return n.links(n.trio.network.held, link{all[1], all[0]}, link{all[2], all[0]})
	}},
	{"stop a process", func(n *nemesis) func() { return n.freeze(n.one()) }},
	{"stop the leader", func(n *nemesis) func() { return n.freeze(n.leader()) }},
}

// begin begins to harm.
func (c *trio) harm(seed uint64, only string) *nemesis {
	n := &nemesis{trio: c, random: rand.New(rand.NewPCG(seed, 1)), only: only, stop: make(chan struct{}),
		did: map[string]int{}}
	n.wait.Go(func() {
		for n.rest(200, 800) {
			chosen := harms[n.random.IntN(len(harms))]
			if n.only != "" && chosen.name != n.only {
				continue
			}
			n.note(chosen.name)
			heal := chosen.do(n)
			n.rest(300, 3000)
			heal()
			c.ready(c.names...)
		}
	})
	return n
}

// end ends the harm and waits until all servers are well.
func (n *nemesis) end() {
	close(n.stop)
	n.wait.Wait()
}

// rest waits some milliseconds. It returns false once the nemesis is to end.
func (n *nemesis) rest(least, most int) bool {
	timer := time.NewTimer(time.Duration(least+n.random.IntN(most-least)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-n.stop:
		return false
	}
}

func (n *nemesis) note(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.did[name]++
}

func (n *nemesis) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprint(n.did)
}

func (n *nemesis) shuffled() []string {
	out := append([]string{}, n.trio.names...)
	n.random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (n *nemesis) one() string { return n.shuffled()[0] }

func (n *nemesis) leader() string {
	if name := n.trio.leader(); name != "" {
		return name
	}
	return n.one()
}

func (n *nemesis) kill(names ...string) func() {
	for _, name := range names {
		n.trio.servers[name].kill()
	}
	return func() {
		for _, name := range names {
			n.trio.servers[name].start()
		}
	}
}

func (n *nemesis) freeze(name string) func() {
	n.trio.servers[name].signal(syscall.SIGSTOP)
	return func() { n.trio.servers[name].signal(syscall.SIGCONT) }
}

func (n *nemesis) links(state map[link]bool, links ...link) func() {
	n.trio.network.set(state, true, links...)
	return func() { n.trio.network.set(state, false, links...) }
}
