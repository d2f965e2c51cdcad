package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"tend.dev/tend/internal/store"
)

// A fault lasts: it begins in one step and ends by itself later, or when all faults end.

// lasting ends a fault after a while.
func (w *World) lasting(d time.Duration, end func()) {
	w.people.wait.Go(func() {
		sleepFor(d)
		end()
	})
}

// spell is weather that lasts.
func (w *World) spell(d time.Duration, what string, begin, end func(*weather)) {
	set := func(to func(*weather)) {
		w.weather.mu.Lock()
		defer w.weather.mu.Unlock()
		to(&w.weather)
	}
	w.storyf("for %s, %s", d, what)
	set(begin)
	w.lasting(d, func() { set(end) })
}

func span(random *rand.Rand, atMost time.Duration) time.Duration {
	return time.Duration(1 + random.Int64N(int64(atMost)))
}

// loseAnswers makes commits fail with an unknown outcome.
func loseAnswers(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	d := span(random, 20*time.Second)
	share := 0.1 + random.Float64()*0.5
	w.spell(d, "the store's answers get lost", func(f *weather) { f.unknown = share }, func(f *weather) { f.unknown = 0 })
}

// stallStore stalls the store's disk for a while: writes sent meanwhile are applied when the stall ends.
func stallStore(w *World, random *rand.Rand) {
	w.weather.mu.Lock()
	defer w.weather.mu.Unlock()
	if w.weather.stalled != nil {
		return
	}
	w.count.faults.Add(1)
	d := span(random, 45*time.Second)
	w.storyf("for %s, the store's disk stands still", d)
	stalled := make(chan struct{})
	w.weather.stalled = stalled
	w.lasting(d, func() {
		w.weather.mu.Lock()
		defer w.weather.mu.Unlock()
		if w.weather.stalled == stalled {
			w.weather.stalled = nil
			close(stalled)
		}
	})
}

// fillStore leaves the store no space.
func fillStore(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	d := span(random, 20*time.Second)
	w.spell(d, "the store has no space", func(f *weather) { f.full = true }, func(f *weather) { f.full = false })
}

// delayWatch makes the view lag.
func delayWatch(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	d, lag := span(random, 20*time.Second), span(random, 2*time.Second)
	w.spell(d, "the watch lags by "+lag.String(), func(f *weather) { f.lag = lag }, func(f *weather) { f.lag = 0 })
}

// loseHeartbeats drops the node's heartbeats while the node works.
func loseHeartbeats(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	d := span(random, 80*time.Second)
	w.spell(d, "heartbeats get lost", func(f *weather) { f.deaf = true }, func(f *weather) { f.deaf = false })
}

// compact makes the store drop its history.
func compact(w *World, _ *rand.Rand) {
	w.count.faults.Add(1)
	page, err := w.store.List(context.Background(), "/cluster", store.ListOptions{})
	if err == nil {
		err = w.store.Compact(context.Background(), page.Revision)
	}
	if err != nil {
		w.fail("compact the store: %v", err)
	}
}

// disconnectEngine makes the engine unreachable while containers keep running.
func disconnectEngine(w *World, random *rand.Rand) {
	if w.away.Load() {
		return
	}
	w.count.faults.Add(1)
	d := span(random, 20*time.Second)
	w.storyf("for %s, the engine doesn't answer", d)
	w.away.Store(true)
	w.engine.Disconnect()
	w.lasting(d, w.reconnectEngine)
}

func (w *World) reconnectEngine() {
	w.engine.Reconnect()
	w.away.Store(false)
}

// restartEngine stops the engine with all its containers; they start again with shuffled addresses.
func restartEngine(w *World, random *rand.Rand) {
	if w.away.Load() {
		return
	}
	w.count.faults.Add(1)
	d := span(random, 10*time.Second)
	w.storyf("for %s, the engine is down with its containers", d)
	w.away.Store(true)
	w.engine.StopEngine()
	shuffle := rand.New(rand.NewPCG(random.Uint64(), 0))
	w.lasting(d, func() {
		w.engine.ShuffleAddresses(shuffle)
		w.engine.StartEngine()
		w.away.Store(false)
	})
}

// crashEngine kills the engine. Its containers run until it is started again; then it restarts them with shuffled
// addresses, a while before it answers.
func crashEngine(w *World, random *rand.Rand) {
	if w.away.Load() {
		return
	}
	w.count.faults.Add(1)
	gone, late := span(random, 10*time.Second), span(random, 8*time.Second)
	w.storyf("the engine crashes for %s, and answers %s late", gone, late)
	w.away.Store(true)
	w.engine.Disconnect()
	shuffle := rand.New(rand.NewPCG(random.Uint64(), 0))
	w.lasting(gone, func() {
		w.engine.StopEngine()
		w.engine.ShuffleAddresses(shuffle)
		w.engine.StartEngine()
		w.engine.Disconnect()
		sleepFor(late)
		w.reconnectEngine()
	})
}

// slowEngine delays the engine's calls, and loses some of its answers.
func slowEngine(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	d := span(random, 20*time.Second)
	w.strain.mu.Lock()
	w.strain.slow, w.strain.lost = span(random, 3*time.Second), random.Float64()*0.3
	w.storyf("for %s, the engine is slow (%s) and loses answers (%.2f)", d, w.strain.slow, w.strain.lost)
	w.strain.mu.Unlock()
	w.lasting(d, w.strain.clear)
}

// jumpClock sets the wall clock of the machine.
func jumpClock(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	to := time.Duration(0)
	if w.skew.Load() == 0 {
		to = time.Duration(random.Int64N(int64(48*time.Hour))) - 24*time.Hour
	}
	w.storyf("the clock is set off by %s", to)
	w.setClock(to)
}

func (w *World) setClock(beside time.Duration) {
	w.skew.Store(int64(beside))
	w.clockSet.Store(max(int64(time.Since(w.began)), 1))
}

// killServer ends the server now.
func killServer(w *World, _ *rand.Rand) {
	w.count.faults.Add(1)
	w.storyf("the server is killed")
	w.kill()
	w.start()
}

// killSoon ends the server at one of its next commits or calls.
func killSoon(w *World, random *rand.Rand) {
	w.count.faults.Add(1)
	w.crashIn.Store(int64(1 + random.IntN(60)))
}

// killLate starts the server again only after a while, in which the engine's containers move.
func killLate(w *World, random *rand.Rand) {
	if w.away.Load() {
		return
	}
	w.count.faults.Add(1)
	late := span(random, 8*time.Second)
	w.storyf("the server is killed, the engine restarts meanwhile and answers the next server %s late", late)
	w.kill()
	w.engine.StopEngine()
	w.engine.ShuffleAddresses(random)
	w.engine.StartEngine()
	w.engine.Disconnect()
	w.away.Store(true)
	w.start()
	w.lasting(late, w.reconnectEngine)
}

// stopServer ends and starts the server as an upgrade does.
func stopServer(w *World, _ *rand.Rand) {
	w.count.faults.Add(1)
	w.storyf("the server is stopped and started")
	w.stop()
	w.start()
}
