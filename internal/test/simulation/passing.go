package simulation

import (
	"math/rand/v2"
	"time"
)

// pause returns a time in which no step is taken: mostly a moment, so that actions overlap, sometimes long enough for
// the world to settle.
func (w *World) pause(random *rand.Rand) time.Duration {
	switch n := random.IntN(10); {
	case n < 5:
		return time.Duration(random.IntN(60)) * time.Millisecond
	case n < 8:
		return time.Duration(random.IntN(3000)) * time.Millisecond
	case n < 9:
		return time.Duration(3+random.IntN(20)) * time.Second
	}
	return time.Duration(20+random.IntN(90)) * time.Second
}

// pass lets time pass, and restarts the servers and agents that died.
func (w *World) pass(d time.Duration) {
	end := time.Now().Add(d)
	for {
		w.opts.Settle()
		w.revive()
		w.reviveBeside()
		for _, m := range w.agents {
			m.revive()
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
			continue
		case <-w.died():
		case <-w.besideDied(0):
		case <-w.besideDied(1):
		case <-w.agentDone(0):
		case <-w.agentDone(1):
		case <-w.agentDone(2):
		}
		timer.Stop()
		sleepFor(time.Second) // the service manager's pause
	}
}

func sleepFor(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
