package daemon

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
)

// besideOthers returns the parts that only a server with possible others runs.
func (d *daemon) besideOthers() (parts []part) {
	if !d.several() {
		return nil
	}
	if d.peers != nil {
		parts = append(parts, part{"servers", d.promote})
	}
	parts = append(parts, part{"presence", d.bePresent})
	if d.nodeListener == nil {
		return parts // without it, this server can't have admitted another
	}
	parts = append(parts, part{"copies", d.copyFiles})
	if d.host != nil {
		parts = append(parts, part{"others", d.answerOthers})
	}
	return parts
}

// bePresent announces this server to the others until ctx ends.
func (d *daemon) bePresent(ctx context.Context) error {
	var lease store.LeaseID
	spent := false
	ticker := time.NewTicker(controlplane.ElectionTTL / 3)
	defer ticker.Stop()
	for {
		if !spent { // before the others see this server: from then on its token is worthless
			spent = d.spendTokens(ctx, func(server string) bool { return server == d.Name }) == nil
		}
		if lease == 0 || errors.Is(d.store.KeepAlive(ctx, lease), store.ErrLeaseNotFound) {
			var err error
			if lease, err = d.announcePresence(ctx, d.life, d.gateAddress()); err != nil && ctx.Err() == nil {
				d.Logger.DebugContext(ctx, "this server could not announce itself; retrying", "error", err)
			}
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

// gateAddress returns the address at which nodes reach this server, or "" without a listener for them.
func (d *daemon) gateAddress() string {
	if d.nodeListener == nil {
		return ""
	}
	return d.nodeAddress()
}

// announcePresence records that this server runs, and the address for nodes, which may be empty.
func (d *daemon) announcePresence(ctx context.Context, since time.Time, address string) (store.LeaseID, error) {
	presence := api.ServerPresence{Address: address, Version: version.Version, Since: since,
		Ports: d.tendPorts()}
	if d.etcd != nil {
		presence.Member = idOf(d.etcd.Self())
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
		return api.Servers{Items: []api.Server{{Name: d.Name, State: api.ServerUp, Leads: true, Vote: api.VotesAsServer,
			Version: version.Version}}}
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

// serverOf returns the description of a server whose store is one of the members.
func (d *daemon) serverOf(m etcd.Member, presence *api.ServerPresence) api.Server {
	s := api.Server{Name: nameOf(m), Store: m.URL, State: api.ServerDown, Vote: api.VotesAsServer}
	if !m.Voting {
		s.Vote = api.LearnsToVote
	}
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

// serverMeant returns a question whether a server with a similar name was meant, or "".
func serverMeant(name string, members []etcd.Member) string {
	var names []string
	for _, member := range members {
		names = append(names, nameOr(member))
	}
	if question := suggest.Question(name, names); question != "" {
		return "; " + question
	}
	return ""
}

// removeServer removes a server from the cluster.
func (d *daemon) removeServer(ctx context.Context, name string) error {
	if !d.several() {
		return &api.Problem{Status: http.StatusConflict,
			Detail: "this server is the only one: its store has no others that could go on without it",
			Next:   "to replace it, join another server first (tend nodes add --server)"}
	}
	if d.etcd == nil {
		_, refused := membership.Decide(membership.Remove, membership.External, membership.Subject{Server: name})
		return ofRefusal(refused)
	}
	members := d.etcd.Members()
	i := slices.IndexFunc(members, func(m etcd.Member) bool { return name == nameOf(m) || name == m.URL && m.Name == "" })
	command, state := membership.Remove, membership.Absent
	if i >= 0 {
		state = membership.StateOf(serversOf(members), nameOr(members[i]))
		if nameOr(members[i]) == d.Name { // its store would end before it has recorded that
			command = membership.RemoveAtItself
		}
	}
	effect, refused := membership.Decide(command, state, membership.Subject{Server: name})
	if refused != nil {
		if state == membership.Absent {
			return &api.Problem{Status: http.StatusNotFound,
				Detail: refused.Why + serverMeant(name, members), Next: refused.Next}
		}
		return ofRefusal(refused)
	}
	if effect != membership.Leaves {
		return refusedServer(name+" has no vote yet, and can't take itself out",
			"at another server: tend servers remove "+name)
	}
	err := d.takeOut(ctx, members[i])
	switch {
	case errors.Is(err, etcd.ErrMember):
		return refusedServer(err.Error(), "tend servers")
	case errors.Is(err, store.ErrNotFound):
		return &api.Problem{Status: http.StatusNotFound, Detail: err.Error(), Next: "tend servers lists them"}
	}
	return err
}

// forgetServer deletes the records of a removed server, and invalidates the tokens that it has used.
func (d *daemon) forgetServer(ctx context.Context, name string, spent func(server string) bool) error {
	if err := d.spendTokens(ctx, spent); err != nil {
		return err
	}
	_, err := records.NewTxn("server.removed").Delete(records.HoldingsKey(name)).Delete(records.ServerKey(name)).Commit(ctx, d.store)
	return err
}

// quorum returns the reason why nothing can be written, or "".
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
