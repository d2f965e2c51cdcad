package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/join"
)

// TestEveryCellOfTheTable: each command about a server, in each of its states, has the effect in the table. The test
// reads the effect from the store's members at another server, from the command's answer, and from the root; after each
// command the cluster accepts writes.
func TestEveryCellOfTheTable(t *testing.T) {
	t.Parallel()
	for _, state := range membership.States {
		if state == membership.External {
			continue // TestEveryCellOverAnExternalEtcd
		}
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newMembersWorld(t)
			intact := false // the previous command has left the server in its state
			for _, command := range membership.Commands {
				t.Run(string(command), func(t *testing.T) {
					w.several.t = t
					if !intact {
						w.away()
						w.reach(state)
					}
					if state == membership.Voting && command == membership.RestoreForced {
						w.third() // of two, the other one has no quorum without b
					}
					w.check(command, state)
					intact = w.intact(membership.Table[command][state].Effect, command, state)
				})
			}
		})
	}
}

// check carries out a command, and compares the result with the table.
func (w *membersWorld) check(command membership.Command, state membership.State) {
	effect, refused := membership.Decide(command, state, w.subject())
	before := w.members()
	switch said := w.do(command); {
	case refused != nil && (said == nil || !strings.Contains(said.Error(), refused.Why)):
		w.t.Errorf("%v, want %q", said, refused.Why)
	case refused == nil && said != nil:
		w.t.Errorf("%v, want: %s", said, effect)
	}
	w.judge(effect, before)
	if err := w.writes(); err != nil {
		w.t.Errorf("the cluster takes no writes after it: %v", err)
	}
}

// intact reports whether the server is as it was before a command, or can be made so.
func (w *membersWorld) intact(effect membership.Effect, command membership.Command, state membership.State) bool {
	started := command == membership.Start || command == membership.StartWiped || command == membership.Restore
	switch {
	case state == membership.Leading && started:
		return false // another one leads since
	case state == membership.Removed && effect == membership.Joins:
		w.takeOut()
		return true
	case effect == membership.Refused || effect == membership.Nothing:
		return !started || state == membership.Voting || state == membership.Down || state == membership.Only ||
			state == membership.Removed
	}
	return false
}

func (w *membersWorld) subject() membership.Subject {
	return membership.Subject{Server: w.about, Address: w.address,
		Holder: membership.Server{Name: w.about, Address: w.address}, Root: w.machines[w.about].root}
}

// reach brings the server that commands are about into a state.
func (w *membersWorld) reach(state membership.State) {
	w.t.Helper()
	w.about, w.address, w.hold = "b", "https://"+loopback(), nil
	if state == membership.Only {
		w.about, w.address = "a", "https://"+w.a.PeerListen
		return
	}
	w.machines["b"], w.running["b"] = newMachine(w.parent), nil
	if state == membership.Leading || state == membership.Down {
		w.third()
	}
	switch state {
	case membership.Absent:
		return
	case membership.Added: // it fails between its admission and the start of its store
		if err := w.begin(func(o *Options) { o.EtcdClient = "http://192.0.2.1:1" }).ended(); err == nil ||
			!strings.Contains(err.Error(), "etcd URL") {
			w.t.Fatalf("b ended with %v", err)
		}
		w.running["b"] = nil
		return
	case membership.Joining:
		w.hold = make(chan struct{})
		w.begin(nil)
		w.parent.Cleanup(w.letGo) // registered before b is stopped, which waits for it to open
		w.running["a"].until("b's store has started", func() bool {
			if w.state() == membership.Voting {
				w.t.Fatal("b votes before it has opened all that it needs")
			}
			return w.state() == membership.Joining && w.remembers() == membership.Joining
		})
		return
	}
	w.begin(nil)
	w.votes()
	switch state {
	case membership.Leading:
		w.leads()
	case membership.Down:
		w.goesDown()
	case membership.Removed:
		if _, err := w.running["a"].client.RemoveServer(w.t.Context(), "b"); err != nil {
			w.t.Fatal(err)
		}
		if err := w.running["b"].ended(); err == nil || !strings.Contains(err.Error(), "was removed from its cluster") {
			w.t.Fatalf("b ended with %v", err)
		}
		w.running["b"] = nil
	}
}

// do carries out a command, and returns the error if it is refused.
func (w *membersWorld) do(command membership.Command) error {
	elsewhere := "https://" + loopback()
	switch command {
	case membership.Join:
		return w.asks(join.Server{Name: w.about, URL: w.address})
	case membership.JoinElsewhere:
		err := w.asks(join.Server{Name: w.about, URL: elsewhere})
		if err == nil {
			w.address = elsewhere
		}
		return err
	case membership.JoinRenamed:
		return w.asks(join.Server{Name: "renamed", URL: w.address})
	case membership.Start, membership.StartWiped:
		return w.again(command == membership.StartWiped)
	case membership.Remove:
		_, err := w.running["a"].client.RemoveServer(w.t.Context(), w.listed())
		return err
	case membership.RemoveAtItself:
		return w.removesItself()
	case membership.Replace:
		return w.replaces()
	case membership.Restore, membership.RestoreForced:
		return w.restores(command == membership.RestoreForced)
	case membership.Promote:
		if w.hold != nil {
			w.look(10)
			if w.state() != membership.Joining {
				w.t.Error("b votes before it has opened all that it needs")
			}
			w.letGo()
			w.votes()
		}
		w.look(10)
		return nil
	case membership.Expire:
		w.look(looksJoining + 1)
		return nil
	}
	return w.becomesAgent()
}

// look inspects the joins a number of times, as the other servers do every half second.
func (w *membersWorld) look(times int) {
	for name, d := range w.daemons {
		if name == "b" {
			continue
		}
		looks := map[uint64]int{}
		for range times {
			d.lookAtJoins(w.t.Context(), looks)
		}
	}
}

// listed returns the name in `tend servers` of the server that commands concern.
func (w *membersWorld) listed() string {
	for _, m := range w.a.etcd.Members() {
		if m.URL == w.address {
			return nameOf(m)
		}
	}
	return w.about
}

// asks sends a's a machine's request to join, with a token of its own.
func (w *membersWorld) asks(who join.Server) error {
	token, err := w.running["a"].client.JoinToken(w.t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		w.t.Fatal(err)
	}
	given, err := join.JoinServer(w.t.Context(), nil, "https://"+token.Address, token.Token, who)
	if err != nil && len(given.Keys)+len(given.Peers) > 0 {
		w.t.Error("it is refused, and has the keys")
	}
	tokens, unread := w.running["a"].client.JoinTokens(w.t.Context())
	if unread != nil {
		w.t.Fatal(unread)
	}
	for _, one := range tokens.Items {
		if err != nil && one.ID == token.ID && len(one.Used) > 0 {
			w.t.Errorf("it is refused, and its token was used by %v", one.Used)
		}
	}
	return err
}

// again restarts the server with its root, after the loss of its store if wiped is set. A server with a vote gets its
// store back then.
func (w *membersWorld) again(wiped bool) error {
	voted := w.state() == membership.Voting || w.state() == membership.Only
	w.halt()
	store := filepath.Join(w.machines[w.about].root, "state", "member")
	if wiped {
		if err := os.Rename(store, store+".lost"); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
	err := w.settled(w.spawn(w.asBefore))
	if err == nil || !wiped {
		return err
	}
	if _, made := os.Stat(store); made == nil {
		w.t.Error("it was refused after it had made a store")
	}
	if back := os.Rename(store+".lost", store); back != nil || !voted {
		return err
	}
	if unready := w.settled(w.spawn(w.asBefore)); unready != nil {
		w.t.Fatal(unready)
	}
	return err
}

// asBefore sets the options of a server that starts once more.
func (w *membersWorld) asBefore(o *Options) {
	if _, err := os.Stat(filepath.Join(o.Root, "peers")); err != nil {
		o.PeerListen = strings.TrimPrefix(w.address, "https://")
	}
}
