package simulation

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// seat is one of several servers, across all its restarts.
type seat struct {
	name  string
	off   *atomic.Bool
	reach *reach
	stop  func(atOnce bool)
	start func()
}

// seat returns a server by its number.
func (w *World) seat(number int) seat {
	if number == 0 {
		stop := func(atOnce bool) {
			if atOnce {
				w.kill()
				return
			}
			w.stop()
		}
		return seat{serverName(0), &w.off, &w.reach, stop, w.start}
	}
	b := w.standbys()[number-1]
	return seat{serverName(number), &b.off, &b.reach, b.stop, b.start}
}

// mishapOfThree causes a fault of one of three servers: often of the leader, since that affects the others.
func (w *World) mishapOfThree(random *rand.Rand) {
	d, what := span(random, 40*time.Second), random.IntN(40)
	s, slow := w.seat(random.IntN(3)), span(random, 4*time.Second)
	if chance(random, 2) {
		s = w.seat(w.terms.leader())
	}
	for range 2 {
		w.see(anyOf(random, cast))
	}
	if s.off.Load() {
		return
	}
	switch what {
	case 0, 1, 2:
		w.faultf("for %s, server %s is cut off from the store", d, s.name)
		s.reach.cut()
		w.lasting(d, s.reach.heal)
	case 3, 4, 5:
		w.faultf("for %s, each call of the store takes server %s %s", d, s.name, slow)
		s.reach.slow(slow)
		w.lasting(d, s.reach.heal)
	case 6, 7, 8:
		w.faultf("server %s is killed, and off for %s", s.name, d)
		w.switchOff(s, d)
	case 9, 10, 11, 12:
		w.faultf("server %s is killed in the middle of a commit, which is applied %s later", s.name, slow)
		s.reach.killAt(1+random.IntN(8), slow)
	case 13:
		w.faultf("server %s is stopped and started", s.name)
		s.stop(false)
		s.start()
	case 14:
		w.faultf("all servers are killed, and all but %s off for %s", s.name, d)
		for n := range w.servers() {
			w.switchOff(w.seat(n), d)
		}
		s.off.Store(false)
	}
}

// switchOff kills a server, and leaves it off for a while.
func (w *World) switchOff(s seat, d time.Duration) {
	if s.off.Swap(true) {
		return
	}
	s.stop(true)
	w.lasting(d, func() { s.off.Store(false) })
}
