package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/server/backup/restore"
	"tend.dev/tend/internal/store/etcd/etcdtest"
)

// externalWorld is two servers on an etcd that neither runs; commands are about b.
type externalWorld struct {
	*membersWorld
	shared *etcdtest.Cluster
}

// TestEveryCellOverAnExternalEtcd: each command about a server whose store is an external etcd has the effect in the
// table. The test reads the effect from the command's answer and from the servers that both know; after each command
// the cluster accepts writes.
func TestEveryCellOverAnExternalEtcd(t *testing.T) {
	t.Parallel()
	w := &externalWorld{&membersWorld{several: newSeveral(t, "a", "b"), parent: t, about: "b"},
		etcdtest.Start(t, etcdtest.Options{})}
	w.startOn(w.shared, "a", "")
	w.startOn(w.shared, "b", "a")
	commands := slices.Clone(membership.Commands)
	slices.SortStableFunc(commands, func(x, y membership.Command) int { // what b doesn't come back from is the last
		return strings.Compare(map[bool]string{true: "1"}[x == membership.RestoreForced],
			map[bool]string{true: "1"}[y == membership.RestoreForced])
	})
	w.bothRun()
	for _, command := range commands {
		t.Run(string(command), func(t *testing.T) {
			w.several.t = t
			effect, refused := membership.Decide(command, membership.External, w.subject())
			switch said := w.do(command); {
			case refused != nil && (said == nil || !strings.Contains(said.Error(), refused.Why)):
				t.Errorf("%v, want %q", said, refused.Why)
			case refused == nil && said != nil:
				t.Errorf("%v, want: %s", said, effect)
			}
			if effect == membership.Alone {
				w.judgeAlone(nil, nil)
			} else {
				w.bothRun()
			}
			if err := w.writes(); err != nil {
				t.Errorf("the cluster takes no writes after it: %v", err)
			}
		})
	}
}

func (w *externalWorld) bothRun() {
	w.t.Helper()
	w.running["a"].until("both servers run", func() bool { return slices.Equal(w.listed(), []string{"a", "b"}) })
}

// subject has the address for nodes, which stands for a server's own here.
func (w *externalWorld) subject() membership.Subject {
	servers, err := w.running["a"].client.Servers(w.t.Context())
	i := slices.IndexFunc(servers.Items, func(s api.Server) bool { return s.Name == "b" })
	if err != nil || i < 0 {
		w.t.Fatalf("%+v, %v", servers, err)
	}
	return membership.Subject{Server: "b", Holder: membership.Server{Name: "b", Address: servers.Items[i].Address},
		Root: w.machines["b"].root}
}

// listed returns the servers that a knows to run.
func (w *externalWorld) listed() (names []string) {
	servers, err := w.running["a"].client.Servers(w.t.Context())
	if err != nil {
		return nil
	}
	for _, s := range servers.Items {
		names = append(names, s.Name)
	}
	return names
}

// do carries out a command, and returns the error if it is refused.
func (w *externalWorld) do(command membership.Command) error {
	a, b := w.running["a"].client, w.running["b"].client
	switch command {
	case membership.Join:
		return w.asks(join.Server{Name: "b", Node: "node-b"})
	case membership.JoinElsewhere:
		return w.asks(join.Server{Name: "b", Node: "node-x"})
	case membership.JoinRenamed:
		return w.asks(join.Server{Name: "renamed", Node: "node-x"})
	case membership.Remove, membership.Replace:
		_, err := a.RemoveServer(w.t.Context(), "b")
		return err
	case membership.RemoveAtItself:
		_, err := b.RemoveServer(w.t.Context(), "b")
		return err
	case membership.Promote, membership.Expire:
		return nil // a server whose store has no members doesn't look at them: nothing to call
	}
	w.halt()
	switch command {
	case membership.StartWiped:
		if err := os.RemoveAll(filepath.Join(w.machines["b"].root, "state")); err != nil {
			w.t.Fatal(err)
		}
	case membership.BecomeAgent:
		err := <-w.agent(w.t.Context())
		w.startOn(w.shared, "b", "")
		return err
	case membership.Restore, membership.RestoreForced:
		return w.restores(command == membership.RestoreForced)
	}
	w.startOn(w.shared, "b", "")
	return nil
}

// restores makes a store from a backup of a in b's root.
func (w *externalWorld) restores(force bool) error {
	_, err := restore.Restore(w.t.Context(), bytes.NewReader(w.running["a"].takeBackup()),
		restore.Options{Root: w.machines["b"].root, Name: "b", Force: force})
	if errors.Is(err, restore.ErrUsed) {
		w.startOn(w.shared, "b", "")
	}
	if err != nil {
		return err
	}
	w.startsPaused()
	return nil
}
