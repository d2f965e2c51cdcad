package daemon

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/server/backup/restore"
)

// halt stops the server that commands are about, if it runs.
func (w *membersWorld) halt() {
	w.t.Helper()
	if r := w.running[w.about]; r != nil && w.ends() == nil {
		r.cancel()
		w.letGo()
		if err := r.stop(); err != nil && !errors.Is(err, context.Canceled) {
			w.t.Fatal(err)
		}
	}
}

// goesDown stops b, until the others say so.
func (w *membersWorld) goesDown() {
	w.t.Helper()
	w.halt()
	w.running["a"].until("b is down", func() bool {
		servers, err := w.running["a"].client.Servers(w.t.Context())
		return err == nil && slices.ContainsFunc(servers.Items,
			func(s api.Server) bool { return s.Name == "b" && s.State == api.ServerDown })
	})
}

// removesItself asks the server that commands are about to remove itself. It returns nil if no server answers.
func (w *membersWorld) removesItself() error {
	r := w.running[w.about]
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	_, err := r.client.RemoveServer(ctx, w.about)
	if problem := (*api.Problem)(nil); errors.As(err, &problem) {
		return err
	}
	if err == nil {
		w.t.Error("it took itself out")
	}
	return nil
}

// replaces removes b, and joins another machine under its name and at its address.
func (w *membersWorld) replaces() error {
	former := w.listed()
	id := w.memberID()
	if _, err := w.running["a"].client.RemoveServer(w.t.Context(), former); err != nil {
		return err
	}
	w.letGo()
	if r := w.running["b"]; r != nil {
		_ = r.stop()
	}
	w.machines["b"], w.running["b"] = newMachine(w.parent), nil
	w.begin(nil)
	w.votes()
	if now := w.memberID(); now == id {
		w.t.Errorf("the member %x is the one that was replaced", now)
	}
	return nil
}

// memberID returns the id of the store of the server that commands are about; 0 without one.
func (w *membersWorld) memberID() uint64 {
	for _, m := range w.a.etcd.Members() {
		if m.URL == w.address {
			return m.ID
		}
	}
	return 0
}

// restores makes a store from a backup of a in the root of the server that commands are about, and starts it. If that
// is refused, a server with a vote is started as it was.
func (w *membersWorld) restores(force bool) error {
	state := w.state()
	file := w.running["a"].takeBackup()
	ran := w.running[w.about] != nil && w.ends() == nil
	w.halt()
	_, err := restore.Restore(w.t.Context(), bytes.NewReader(file), restore.Options{
		Root: w.machines[w.about].root, Name: w.about, Force: force,
	})
	switch {
	case err == nil:
		w.startsPaused()
	case ran && (state == membership.Voting || state == membership.Only):
		if unready := w.settled(w.spawn(w.asBefore)); unready != nil {
			w.t.Fatal(unready)
		}
	}
	return err
}

// startsPaused starts a server whose store was restored.
func (w *membersWorld) startsPaused() {
	w.t.Helper()
	r := w.spawn(func(o *Options) {
		o.Node = "node-a" // a backup has the name of its machine's node
		if w.address != "" {
			w.asBefore(o)
		}
	})
	r.untilWithin(patience, "the restored server is paused", func() bool {
		if err := w.ends(); err != nil {
			w.t.Fatalf("the restored server ended: %v", err)
		}
		readiness, err := r.client.Readiness(context.Background())
		return err == nil && strings.Contains(strings.Join(readiness.Missing, " "), "paused: restored from the backup of")
	})
}

// judgeAlone requires that a restored server has a store without the others, which have lost nothing by it.
func (w *membersWorld) judgeAlone(before, after []string) {
	w.t.Helper()
	r := w.running[w.about]
	servers, err := r.client.Servers(w.t.Context())
	if err != nil || len(servers.Items) != 1 || servers.Items[0].Name != w.about {
		w.t.Errorf("the restored server knows %+v, %v", servers.Items, err)
	}
	if w.about == "b" {
		if !slices.Equal(before, after) {
			w.t.Errorf("the members of the others were %v and are %v", before, after)
		}
		return
	}
	r.until("it goes on", func() bool {
		_, err := r.client.Resume(w.t.Context(), api.UnknownKeep)
		return err == nil
	})
	if err := w.settled(r); err != nil {
		w.t.Error(err)
	}
}
