package daemon

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/member"
	"tend.dev/tend/internal/node/runtime"
)

// agent runs an agent with the root of the server that commands are about, until ctx ends.
func (w *membersWorld) agent(ctx context.Context) chan error {
	w.t.Helper()
	token, err := w.running["a"].client.JoinToken(w.t.Context(), api.JoinTokenRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	m, done := w.machines[w.about], make(chan error, 1)
	go func() {
		done <- member.Run(ctx, member.Options{Server: token.Address, Token: token.Token, Options: host.Options{
			Root: m.root, Node: "node-" + w.about, Runtime: "hollow",
			Logger: slog.New(slog.NewTextHandler(logWriter(w.parent), nil)),
			Engine: func(cluster, node string) (runtime.Runtime, error) { return m.engine.Client(cluster, node), nil },
		}})
	}()
	return done
}

// becomesAgent starts an agent with the root of the server that commands are about, until its node is connected.
func (w *membersWorld) becomesAgent() (err error) {
	m := w.machines[w.about]
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	done := w.agent(ctx)
	w.running["a"].untilWithin(patience, "the node is connected, or its agent ends", func() bool {
		select {
		case err = <-done:
			return true
		default:
		}
		return slices.Contains(w.a.fleet.Connected(), "node-b") && w.joined()
	})
	if err != nil {
		return err
	}
	cancel()
	if err := <-done; err != nil {
		w.t.Error(err)
	}
	w.hasNoKeys(m.root)
	return nil
}

// joined reports whether b's machine is a node of its own.
func (w *membersWorld) joined() bool {
	_, err := os.Stat(filepath.Join(w.machines["b"].root, "joined"))
	return err == nil
}

// hasNoKeys requires that the root of an agent has no keys of the cluster outside of the files set aside.
func (w *membersWorld) hasNoKeys(root string) {
	keys, err := os.ReadFile(filepath.Join(w.machines["a"].root, "secret.key"))
	if err != nil {
		w.t.Fatal(err)
	}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(root, "replaced") {
			return fs.SkipDir
		}
		if content, err := os.ReadFile(path); err == nil &&
			(bytes.Equal(content, keys) || strings.HasSuffix(path, "peers/authority.pem")) {
			w.t.Errorf("the agent has %s of the cluster", path)
		}
		return nil
	})
}

// judge compares the present state with the intended effect of a command.
func (w *membersWorld) judge(effect membership.Effect, before []string) {
	w.t.Helper()
	after := w.members()
	switch effect {
	case membership.Refused, membership.Nothing, membership.Agent:
		if !slices.Equal(before, after) {
			w.t.Errorf("the members were %v and are %v", before, after)
		}
	case membership.Joins:
		if w.state() != membership.Added || len(after) != w.others()+1 {
			w.t.Errorf("the members are %v", after)
		}
	case membership.Founds:
		if err := w.settled(w.running["b"]); err != nil || !slices.Equal(before, after) {
			w.t.Errorf("%v, and the members of the other cluster are %v", err, after)
		}
		servers, err := w.running["b"].client.Servers(w.t.Context())
		if err != nil || len(servers.Items) != 1 || servers.Items[0].Name != "b" ||
			servers.Items[0].Vote != api.VotesAsServer {
			w.t.Errorf("%+v, %v", servers, err)
		}
	case membership.GoesOn, membership.Votes, membership.Replaced:
		if state := w.state(); state != membership.Voting && state != membership.Only {
			w.t.Errorf("it is %s", state)
		}
		w.running["a"].until("each votes, and has seen all", func() bool {
			servers, err := w.running["a"].client.Servers(w.t.Context())
			return err == nil && len(servers.Items) == len(after) &&
				!slices.ContainsFunc(servers.Items, func(s api.Server) bool {
					return s.Vote != api.VotesAsServer || s.Lag == nil || *s.Lag != 0
				})
		})
	case membership.Leaves:
		if w.state() != membership.Absent || len(after) != w.others() {
			w.t.Errorf("the members are %v", after)
		}
	case membership.Alone:
		w.judgeAlone(before, after)
	}
}

// takeOut removes the server that commands are about.
func (w *membersWorld) takeOut() {
	w.t.Helper()
	if w.state() == membership.Absent {
		return
	}
	if _, err := w.running["a"].client.RemoveServer(w.t.Context(), w.listed()); err != nil {
		w.t.Fatal(err)
	}
}

// letGo lets b open its engine, if it is held.
func (w *membersWorld) letGo() {
	if w.hold != nil {
		close(w.hold)
		w.hold = nil
	}
}

// away removes b from the world.
func (w *membersWorld) away() {
	w.t.Helper()
	if w.about != "b" || w.address == "" {
		return
	}
	w.takeOut()
	w.letGo()
	if w.running["b"] != nil {
		_ = w.running["b"].stop()
	}
	_, _ = w.running["a"].client.RemoveNode(w.t.Context(), "node-b", client.RemoveOptions{Force: true})
	w.running["a"].until("b is away", func() bool { return len(w.members()) == w.others() })
}
