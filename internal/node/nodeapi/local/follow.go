package local

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// frameSize is the number of tasks or images in a frame of a listing.
const frameSize = 200

// Follow sends what the node may see, and then its changes, until ctx ends or send fails. It continues after a revision
// that an earlier Follow of the same epoch sent if the changes since are kept, else it begins with a listing. A
// receiver that is slow for long gets another listing: nothing is buffered for it without bound.
func (c *Control) Follow(ctx context.Context, epoch string, since int64, send func(node.Frame) error) error {
	select {
	case <-c.Synced():
	case <-ctx.Done():
		return ctx.Err()
	}
	if epoch != c.epoch || since > c.View.Revision() {
		since = 0
	}
	for {
		if since == 0 {
			var err error
			if since, err = c.list(send); err != nil {
				return err
			}
		}
		err := c.follow(ctx, since, send)
		if !errors.Is(err, view.ErrGone) {
			return err
		}
		since = 0
	}
}

// list sends everything, and returns the revision it is complete up to.
func (c *Control) list(send func(node.Frame) error) (int64, error) {
	revision := c.View.Revision()
	all := pending{tasks: map[string]bool{}, images: map[api.Ref]bool{}, table: true, network: true,
		relays: map[string]bool{c.node: true}}
	for _, id := range c.Tasks() {
		all.tasks[id] = true
	}
	for _, owner := range c.Images() {
		all.images[owner] = true
	}
	if err := send(node.Frame{Reset: true}); err != nil {
		return 0, err
	}
	frame := c.frame(all)
	for tasks := range slices.Chunk(frame.Tasks, frameSize) {
		if err := send(node.Frame{Tasks: tasks}); err != nil {
			return 0, err
		}
	}
	for images := range slices.Chunk(frame.Images, frameSize) {
		if err := send(node.Frame{Images: images}); err != nil {
			return 0, err
		}
	}
	for name, pods := range frame.Pods {
		if err := send(node.Frame{Pods: map[string]node.Pods{name: pods}}); err != nil {
			return 0, err
		}
	}
	return revision, send(node.Frame{Revision: revision, Epoch: c.epoch, Table: frame.Table, Services: frame.Services,
		Network: frame.Network, Relays: frame.Relays})
}

// follow sends changes after a revision.
func (c *Control) follow(ctx context.Context, since int64, send func(node.Frame) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var began atomic.Int64 // the newest revision that may be of the past
	began.Store(math.MaxInt64)
	watch := c.View.Watch(ctx, view.WatchOptions{From: since + 1, Match: func(change view.Change) bool {
		return c.concerns(change, change.Revision <= began.Load())
	}})
	began.Store(c.View.Revision())
	for changes := range watch.Changes() {
		next := pending{tasks: map[string]bool{}, images: map[api.Ref]bool{}, services: map[string]bool{},
			peers: map[string]bool{}, relays: map[string]bool{}, pods: map[string]map[netip.Addr]bool{}}
		own := false
		for _, change := range changes {
			next.add(c, c.effects(change))
			own = own || slices.Contains(reporters(change), c.node)
		}
		frame := c.frame(next)
		if !own && frame.Empty() {
			continue
		}
		frame.Revision = changes[0].Revision
		if err := send(frame); err != nil {
			return err
		}
	}
	return watch.Err()
}

// pending collects what the next frame is to contain.
type pending struct {
	tasks    map[string]bool
	images   map[api.Ref]bool
	services map[string]bool
	table    bool
	network  bool
	peers    map[string]bool
	relays   map[string]bool
	pods     map[string]map[netip.Addr]bool // addresses by node
	changes  []node.Change
}

func (p *pending) add(c *Control, effects []effect) {
	served, proxies := false, sync.OnceValue(func() bool { return c.servesIngress(c.snapshot()) })
	for _, e := range effects {
		p.table = p.table || e.table
		if c.routes(e) && (e.table || e.node == "" || e.node == c.node || proxies() || c.atEvery(e.service)) {
			served = true
			if e.service != "" {
				p.services[e.service] = true
			}
		}
		if !e.concerns(c.node) {
			continue
		}
		p.network = p.network || e.network
		if e.peer != "" {
			p.peers[e.peer] = true
		}
		if e.relay != "" {
			p.relays[e.relay] = true
		}
		if e.ports {
			p.relays[c.node] = true
		}
		if e.pods != "" && e.pods != c.node { // its own it knows itself
			p.move(e)
		}
		if e.task != "" {
			p.tasks[e.task] = true
		}
		if e.image != (api.Ref{}) {
			p.images[e.image] = true
		}
		if notice := e.notice(); notice != (node.Change{}) {
			p.changes = append(p.changes, notice)
		}
	}
	if last := (node.Change{Served: true}); served && !slices.Contains(p.changes, last) {
		p.changes = append(p.changes, last)
	}
}

func (p *pending) move(e effect) {
	if p.pods[e.pods] == nil {
		p.pods[e.pods] = map[netip.Addr]bool{}
	}
	for _, address := range e.moved {
		if address.IsValid() {
			p.pods[e.pods][address] = true
		}
	}
}

// frame reads the current state of what is pending.
func (c *Control) frame(p pending) node.Frame {
	snap := c.snapshot()
	out := node.Frame{Changes: p.changes}
	for _, id := range slices.Sorted(maps.Keys(p.tasks)) {
		entry := node.TaskEntry{ID: id}
		if assigned, known := c.Task(id); known {
			entry.Assignment = &assigned
		}
		out.Tasks = append(out.Tasks, entry)
	}
	for owner := range p.images {
		entry := node.ImageEntry{Owner: owner}
		if assigned := c.Image(owner); assigned.Requested || assigned.Answered {
			entry.Assignment = &assigned
		}
		out.Images = append(out.Images, entry)
	}
	c.serving(snap, p, &out)
	c.connecting(snap, p, &out)
	c.relaying(snap, p, &out)
	return out
}

// connecting adds the network: all of it, or the peers and pods that changed.
func (c *Control) connecting(snap records.Snapshot, p pending, out *node.Frame) {
	if p.network {
		network := c.Network()
		out.Network, out.Pods = &network, c.Pods()
		return
	}
	sees := c.sees(snap)
	for name, addresses := range p.pods {
		if !sees(name) {
			continue // once a network is declared, all of them come
		}
		if out.Moved == nil {
			out.Moved = map[string]node.Pods{}
		}
		now, moved := c.pods.on(snap, name), node.Pods{}
		for address := range addresses {
			moved[address] = now[address]
		}
		out.Moved[name] = moved
	}
	for name := range p.peers {
		if !sees(name) {
			continue
		}
		if out.Peers == nil {
			out.Peers = map[string]*node.Peer{}
		}
		out.Peers[name] = nil
		if peer, ok := c.peer(snap, name); ok {
			out.Peers[name] = &peer
		}
	}
}

// serving adds what proxies serve: all workloads with the table, since an ingress may name another one now, else those
// that changed and are named.
func (c *Control) serving(snap records.Snapshot, p pending, out *node.Frame) {
	if !p.table && len(p.services) == 0 {
		return
	}
	table := c.table(snap)
	if p.table {
		out.Table = &table
	}
	for key := range c.named(snap, table) {
		if !p.table && !p.services[key] {
			continue
		}
		if out.Services == nil {
			out.Services = map[string]*node.Service{}
		}
		out.Services[key] = nil
		if found, ok := c.service(snap, key); ok {
			out.Services[key] = &found
		}
	}
}
