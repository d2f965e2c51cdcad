package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/server/daemon"
	"tend.dev/tend/internal/test/fault"
)

// In some worlds two or three servers share the store, and three machines use any server that answers. A server
// crashes, stops, is slow, or is cut off from the store; a former leader learns late that it lost the lead. People call
// any of them.

// servers is the number of servers in a world.
func (w *World) servers() int {
	switch w.opts.Seed % 100 {
	case 77, 87:
		return 2
	case 57, 97:
		return 3
	}
	return 1
}

// shared reports whether several servers have the store.
func (w *World) shared() bool { return w.servers() > 1 }

// addressOf returns the address at which agents dial a server. Nothing listens there: cables connect to it.
func addressOf(number int) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(number+1)), Port: 1}
}

func serverName(number int) string { return fmt.Sprintf("tend-%d", number) }

// standby is a server beside the first one, across all its restarts.
type standby struct {
	w      *World
	number int // from 1
	root   string
	life   *server
	// off is set until the server is started again.
	off   atomic.Bool
	reach reach
	// listener is where people reach it.
	listener atomic.Pointer[pipe]
}

// standbys returns the servers beside the first one, or nil until they are made.
func (w *World) standbys() []*standby {
	if all := w.beside.Load(); all != nil {
		return *all
	}
	return nil
}

func (w *World) besideRoot(number int) string { return fmt.Sprintf("%s-beside-%d", w.root, number) }

// foundBeside makes the other servers once the first has created the cluster: they get the cluster's key, and the same
// files.
func (w *World) foundBeside() {
	key, err := os.ReadFile(filepath.Join(w.root, "secret.key"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if _, found := os.Stat(filepath.Join(w.root, "blobs")); found != nil {
		return
	}
	var all []*standby
	for n := 1; n < w.servers(); n++ {
		b := &standby{w: w, number: n, root: w.besideRoot(n)}
		err = errors.Join(err, os.MkdirAll(b.root, 0o700), os.WriteFile(filepath.Join(b.root, "secret.key"), key, 0o600),
			os.Symlink(filepath.Join(w.root, "blobs"), filepath.Join(b.root, "blobs")))
		all = append(all, b)
	}
	if err != nil {
		w.fail("make the other servers: %v", err)
		return
	}
	for _, b := range all {
		w.storyf("server %s starts", serverName(b.number))
		b.start()
	}
	w.beside.Store(&all)
}

// start begins a life of a server.
func (b *standby) start() {
	w := b.w
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{listener: newPipe(), nodes: newPipeAt(addressOf(b.number)), edge: &edge{}, cancel: cancel,
		done: make(chan struct{})}
	s.faults = fault.New(fault.Options{CrashWhen: w.crashes})
	b.life = s
	b.listener.Store(s.listener)
	for _, m := range w.agents {
		m.cable.plug(b.number, s.nodes)
	}
	paused := w.pausing == b.number
	go func() {
		defer close(s.done)
		s.err = daemon.Run(ctx, daemon.Options{
			Options: host.Options{
				Root: b.root, Node: "beside", Runtime: "hollow", AroundRuntime: s.faults.Runtime,
				MinFree: -1, Logger: b.logger(), Now: w.now,
			},
			Name: serverName(b.number), Shared: true, Paused: paused, NoAgent: true, HTTP: "off",
			Store:    &severed{link: &link{Store: w.store, w: w, number: b.number, life: s}, reach: &b.reach},
			Listener: s.listener, Nodes: s.nodes, AroundStore: s.faults.Store,
		})
	}()
	go func() {
		select {
		case <-s.faults.Crashed():
			cancel()
		case <-s.done:
		}
	}()
}

func (b *standby) logger() *slog.Logger {
	return b.w.logger().With("life", serverName(b.number))
}

// stop ends a server: at once, or as a service manager does.
func (b *standby) stop(atOnce bool) {
	if atOnce {
		b.life.faults.End()
	}
	b.life.cancel()
	<-b.life.done
	b.life.close()
}

// besideDied returns a channel that is closed when one of the other servers has ended; nil if there is none, or it is
// meant to be off.
func (w *World) besideDied(n int) <-chan struct{} {
	all := w.standbys()
	if n >= len(all) || all[n].off.Load() {
		return nil
	}
	return all[n].life.done
}

// reviveBeside starts the other servers again where they have ended.
func (w *World) reviveBeside() {
	for n, b := range w.standbys() {
		select {
		case <-w.besideDied(n):
		default:
			continue
		}
		b.life.close()
		if err := b.life.err; err != nil && !excused(err) {
			w.fail("server %s ended by itself: %v", serverName(b.number), err)
		}
		b.start()
	}
}

// healServers ends all that is wrong with servers.
func (w *World) healServers() {
	w.reach.heal()
	w.off.Store(false)
	for _, b := range w.standbys() {
		b.reach.heal()
		b.off.Store(false)
	}
}

// dialAny connects to one of the running servers: each in turn, and the next one if it doesn't answer.
func (w *World) dialAny(ctx context.Context) (conn net.Conn, err error) {
	all := []*pipe{w.listener.Load()}
	for _, b := range w.standbys() {
		all = append(all, b.listener.Load())
	}
	if len(all) > 1 {
		turn := int(w.people.turn.Add(1)) % len(all)
		all = slices.Concat(all[turn:], all[:turn])
	}
	for _, each := range all {
		if conn, err = each.dial(ctx); !errors.Is(err, errRefused) {
			break
		}
	}
	return conn, err
}

// besideMishap causes a fault of the servers after some steps of a world with several.
func (w *World) besideMishap(step int) {
	switch all := w.standbys(); {
	case !w.shared():
	case len(all) == 0:
		w.foundBeside()
	case len(all) == 1:
		w.mishapOfTwo(all[0], rand.New(rand.NewPCG(w.opts.Seed, 11<<32+uint64(step))))
	default:
		w.mishapOfThree(rand.New(rand.NewPCG(w.opts.Seed, 12<<32+uint64(step))))
	}
}

// mishapOfTwo causes a fault of one of two servers, or of both.
func (w *World) mishapOfTwo(b *standby, random *rand.Rand) {
	d, what := span(random, 40*time.Second), random.IntN(24)
	for range 2 {
		w.see(anyOf(random, cast))
	}
	if b.off.Load() {
		return
	}
	switch what {
	case 0, 1:
		w.faultf("for %s, the second server is cut off from the store", d)
		b.reach.cut()
		w.lasting(d, b.reach.heal)
	case 2, 3:
		w.faultf("for %s, the first server is cut off from the store", d)
		w.reach.cut()
		w.lasting(d, w.reach.heal)
	case 4, 5, 6:
		w.faultf("the second server is killed, and off for %s", d)
		b.off.Store(true)
		b.stop(true)
		w.lasting(d, func() { b.off.Store(false) })
	case 7:
		w.faultf("the second server is stopped and started")
		b.stop(false)
		b.start()
	case 8:
		w.faultf("both servers are killed")
		b.stop(true)
		w.kill()
		w.start()
		b.start()
	}
}
