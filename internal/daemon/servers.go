package daemon

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/controlplane"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/version"
)

// besideOthers returns the parts of a server that other servers may run beside.
func (d *daemon) besideOthers() (parts []part) {
	if !d.several() {
		return nil
	}
	if d.peers != nil {
		parts = append(parts, part{"servers", d.promote})
	}
	parts = append(parts, part{"presence", d.bePresent})
	if d.gate == nil {
		return parts // it can't have admitted another one
	}
	parts = append(parts, part{"copies", d.copyFiles})
	if d.host != nil {
		parts = append(parts, part{"others", d.answerOthers})
	}
	return parts
}

// bePresent says to the other servers that this one runs, until ctx ends.
func (d *daemon) bePresent(ctx context.Context) error {
	since := d.Now().UTC()
	var lease store.LeaseID
	spent := false
	ticker := time.NewTicker(controlplane.ElectionTTL / 3)
	defer ticker.Stop()
	for {
		if lease == 0 || errors.Is(d.store.KeepAlive(ctx, lease), store.ErrLeaseNotFound) {
			var err error
			if lease, err = d.announcePresence(ctx, since); err != nil && ctx.Err() == nil {
				d.Logger.DebugContext(ctx, "this server could not say that it runs; tried again", "error", err)
			}
		}
		if lease != 0 && !spent {
			spent = d.spendTokens(ctx, func(server string) bool { return server == d.Name }) == nil
		}
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if lease != 0 {
				_ = d.store.Revoke(ctx, lease)
			}
			return nil
		case <-ticker.C:
		}
	}
}

func (d *daemon) announcePresence(ctx context.Context, since time.Time) (store.LeaseID, error) {
	presence := api.ServerPresence{Version: version.Version, Since: since}
	if d.gate != nil {
		presence.Address = d.nodeAddress()
	}
	lease, err := d.store.Grant(ctx, controlplane.ElectionTTL)
	if err != nil {
		return 0, err
	}
	_, err = records.NewTxn("server.present").PutLeased(records.ServerKey(d.Name), presence, lease).Commit(ctx, d.store)
	if err != nil {
		return 0, err
	}
	return lease, nil
}

// servers returns the servers of the cluster.
func (d *daemon) servers() api.Servers {
	if !d.several() {
		return api.Servers{Items: []api.Server{{Name: d.Name, State: api.ServerUp, Leads: true, Version: version.Version}}}
	}
	if d.etcd == nil {
		return d.externalServers()
	}
	out := api.Servers{Items: []api.Server{}, Quorum: d.quorum()}
	holder, _ := d.snapshot().Get(controlplane.ElectionKey)
	running, leader := d.presences(), controlplane.Leader(holder.Value)
	for _, m := range d.etcd.Members() {
		s := d.serverOf(m, running[m.Name])
		switch {
		case out.Quorum == "":
			s.Leads = s.Name == leader && s.State == api.ServerUp
		case !m.Self:
			s.State = api.ServerUnknown
		}
		out.Items = append(out.Items, s)
	}
	slices.SortFunc(out.Items, func(a, b api.Server) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// serverOf returns what is known of a server whose store is one of the members.
func (d *daemon) serverOf(m etcd.Member, presence *api.ServerPresence) api.Server {
	s := api.Server{Name: nameOf(m), Store: m.URL, State: api.ServerDown}
	switch {
	case m.Name == "":
		s.State = api.ServerAdded
	case !m.Voting:
		s.State = api.ServerJoining
	case presence != nil || m.Self:
		s.State = api.ServerUp
	}
	if presence != nil {
		s.Address, s.Version, s.Since = presence.Address, presence.Version, presence.Since
	}
	return s
}

// removeServer takes a server out of the cluster.
func (d *daemon) removeServer(ctx context.Context, name string) error {
	if !d.several() {
		return &api.Problem{Status: http.StatusConflict, Detail: "this cluster's store has no servers that could be removed", Next: "tend servers"}
	}
	if d.etcd == nil {
		return &api.Problem{Status: http.StatusConflict, Detail: "the store is an external etcd, which knows no servers: one that is stopped is in no list any more",
			Next: "stop tend server on that machine; for its node: tend drain, then tend nodes remove"}
	}
	spent := func(server string) bool { return server == name }
	for _, m := range d.etcd.Members() {
		if nameOf(m) == name && m.Name == "" { // it has never started: it is one of those that nothing else is known of
			name, spent = m.URL, func(server string) bool { return !d.started(server) }
		}
	}
	err := d.etcd.RemoveMember(ctx, name)
	switch {
	case errors.Is(err, etcd.ErrMember):
		return &api.Problem{Status: http.StatusConflict, Title: "ServerRefused", Detail: err.Error(), Next: "tend servers"}
	case errors.Is(err, store.ErrNotFound):
		return &api.Problem{Status: http.StatusNotFound, Detail: err.Error(), Next: "tend servers lists them"}
	}
	if err == nil {
		err = d.spendTokens(ctx, spent)
	}
	if err == nil {
		_, err = records.NewTxn("server.removed").Delete(records.HoldingsKey(name)).Commit(ctx, d.store)
	}
	return err
}

// quorum returns why nothing can be written; empty if it can.
func (d *daemon) quorum() string {
	store, ok := d.Store.(interface{ Quorum() error })
	if !ok || !d.several() {
		return ""
	}
	if err := store.Quorum(); err != nil {
		return err.Error()
	}
	return ""
}
