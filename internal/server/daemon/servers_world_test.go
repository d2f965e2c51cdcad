package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/node/runtime"
)

// membersWorld is a cluster with a server a, and a server that comes, goes and fails.
type membersWorld struct {
	*several
	a *daemon
	// daemons are the last starts of all, by their servers' names.
	mu      sync.Mutex
	daemons map[string]*daemon
	// parent is the test; several has the cell's.
	parent *testing.T
	// about is the server that commands concern: a, or b on a machine of its own, which is another one each time.
	about, address string
	// hold keeps b from opening its engine, and so from its vote, until it is closed.
	hold chan struct{}
}

// members returns the members of the store as a sees them: name, address, vote.
func (w *membersWorld) members() (out []string) {
	for _, m := range w.a.etcd.Members() {
		out = append(out, fmt.Sprintf("%s %s %v", m.Name, m.URL, m.Voting))
	}
	slices.Sort(out)
	return out
}

func (w *membersWorld) writes() error {
	_, err := w.running["a"].client.JoinToken(w.t.Context(), api.JoinTokenRequest{})
	return err
}

// state returns the state of the server that commands are about.
func (w *membersWorld) state() membership.State {
	servers := serversOf(w.a.etcd.Members())
	if state := membership.StateOf(servers, w.about); state != membership.Absent {
		return state
	}
	return membership.StateOf(servers, w.address)
}

// begin starts b, which joins through a if its root is empty.
func (w *membersWorld) begin(edit func(*Options)) *running {
	w.t.Helper()
	hold := w.hold
	token, err := w.running["a"].client.JoinToken(w.t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.spawn(func(o *Options) {
		o.PeerListen, o.Join, o.Token = strings.TrimPrefix(w.address, "https://"), token.Address, token.Token
		engine := o.Engine
		o.Engine = func(cluster, node string) (runtime.Runtime, error) {
			if hold != nil {
				<-hold
			}
			return engine(cluster, node)
		}
		if edit != nil {
			edit(o)
		}
	})
}

// spawn starts the server that commands are about, and waits for nothing.
func (w *membersWorld) spawn(edit func(*Options)) *running {
	w.running[w.about] = w.machines[w.about].startWith(func(o *Options) {
		o.Store, o.Name, o.Node, o.NodeListen, o.MinFree = nil, w.about, "node-"+w.about, "127.0.0.1:0", -1
		o.opened = w.opened
		edit(o)
	})
	return w.running[w.about]
}

// votes waits until b votes.
func (w *membersWorld) votes() {
	w.t.Helper()
	w.running["a"].untilWithin(patience, "b votes", func() bool {
		return w.ends() != nil || w.state() == membership.Voting && w.remembers() == membership.Voting
	})
	if err := w.ends(); err != nil {
		w.t.Fatalf("b ended with %v", err)
	}
}

// remembers returns the state that b's root has.
func (w *membersWorld) remembers() membership.State {
	settings, _, _ := peer.ReadSettings(filepath.Join(w.machines["b"].root, "peers"))
	return settings.State
}

// ends returns the error of the server that commands concern, if it has ended.
func (w *membersWorld) ends() error {
	select {
	case err := <-w.running[w.about].done:
		w.running[w.about].done <- err
		return err
	default:
		return nil
	}
}

// settled waits until a server is ready or has ended, and returns its error.
func (w *membersWorld) settled(r *running) (err error) {
	w.t.Helper()
	r.untilWithin(patience, "the server is ready, or ends", func() bool {
		select {
		case err = <-r.done:
			r.done <- err
			return true
		default:
		}
		readiness, unready := r.client.Readiness(context.Background())
		return unready == nil && readiness.Ready
	})
	return err
}

// joinsWith starts a server that joins a cluster with a token, and waits until it is ready or has ended.
func (w *membersWorld) joinsWith(token api.JoinToken, edit func(*Options)) error {
	w.t.Helper()
	return w.settled(w.spawn(func(o *Options) {
		o.PeerListen, o.Join, o.Token = loopback(), token.Address, token.Token
		edit(o)
	}))
}

// opened notes a server that has started.
func (w *membersWorld) opened(d *daemon) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemons == nil {
		w.daemons = map[string]*daemon{}
	}
	w.daemons[d.Name] = d
	if d.Name == "a" {
		w.a = d
	}
}

// others returns the number of servers beside b.
func (w *membersWorld) others() int {
	if w.running["c"] != nil {
		return 2
	}
	return 1
}

// third starts a third server, so that the other two can do without b.
func (w *membersWorld) third() {
	w.t.Helper()
	if w.running["c"] != nil {
		return
	}
	token := w.serverToken()
	w.machines["c"] = newMachine(w.parent)
	w.startWith("c", func(o *Options) {
		o.PeerListen, o.Join, o.Token, o.opened = loopback(), token.Address, token.Token, w.opened
	})
}

// leads restarts the other servers until the controllers run on b.
func (w *membersWorld) leads() {
	w.t.Helper()
	for leader := ""; leader != "b"; {
		w.running["a"].untilWithin(patience, "one leads", func() bool {
			leader = w.leader("a")
			return leader != ""
		})
		if leader == "b" {
			return
		}
		if err := w.running[leader].stop(); err != nil {
			w.t.Fatal(err)
		}
		w.boot(leader, func(o *Options) { o.opened = w.opened })
		if err := w.settled(w.running[leader]); err != nil {
			w.t.Fatal(err)
		}
	}
}

func newMembersWorld(t *testing.T) *membersWorld {
	w := &membersWorld{several: newSeveral(t, "a", "b"), parent: t, about: "b"}
	w.startWith("a", func(o *Options) { o.PeerListen, o.opened = loopback(), w.opened })
	return w
}

func (w *membersWorld) serverToken() api.JoinToken {
	w.t.Helper()
	token, err := w.running["a"].client.JoinToken(w.t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}
