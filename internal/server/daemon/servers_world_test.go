package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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

func newMembersWorld(t *testing.T) *membersWorld {
	w := &membersWorld{several: newSeveral(t, "a", "b"), parent: t, about: "b"}
	w.startWith("a", func(o *Options) { o.PeerListen, o.opened = loopback(), func(d *daemon) { w.a = d } })
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
