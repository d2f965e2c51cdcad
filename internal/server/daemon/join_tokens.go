package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
)

// keepTokens is the time for which an expired token stays listed.
const keepTokens = 24 * time.Hour

// joinToken makes a token for machines that join as nodes, or as servers, and returns where they connect.
func (d *daemon) joinToken(
	ctx context.Context, asked api.JoinTokenRequest, ttl time.Duration, by string,
) (api.JoinToken, error) {
	if d.nodeListener == nil {
		return api.JoinToken{}, &api.Problem{Status: http.StatusConflict, Detail: "this server has no listener for nodes",
			Next: "start that server again with --node-listen :8688; containers keep running meanwhile"}
	}
	server := asked.Role == api.JoinAsServer
	if server && !d.several() {
		return api.JoinToken{}, &api.Problem{Status: http.StatusConflict,
			Detail: "this server's store has no listener for other servers",
			Next:   "start that server again with --peer-listen HOST:PORT; containers keep running meanwhile"}
	}
	issuer := d.nodeListener.desk.Authority.Fingerprint()
	token, secret := join.NewToken(asked.Role, issuer)
	now := d.Now().UTC()
	record := records.JoinToken{Hash: secret.Hash, Authority: issuer, JoinTokenInfo: api.JoinTokenInfo{
		ID: secret.ID, Role: asked.Role, Node: asked.Node, Replace: asked.Replace, Uses: asked.Uses, MadeBy: by, MadeAt: now,
		ExpiresAt: now.Add(ttl).Truncate(time.Second),
	}}
	txn := records.NewTxn("token.make").If(records.JoinTokenKey(secret.ID), 0).Put(records.JoinTokenKey(secret.ID), record)
	for _, old := range d.snapshot().JoinTokens() {
		if now.Sub(old.Value.ExpiresAt) > keepTokens {
			txn.Delete(records.JoinTokenKey(old.Value.ID))
		}
	}
	revision, err := txn.Commit(ctx, d.store)
	if err != nil {
		return api.JoinToken{}, fmt.Errorf("store the token: %w", err)
	}
	if err := d.view.WaitFor(ctx, revision); err != nil {
		return api.JoinToken{}, err
	}
	made := api.JoinToken{JoinTokenInfo: record.JoinTokenInfo, Token: token, Address: d.nodeAddress()}
	if server && d.external != nil {
		made.EtcdEndpoints, made.EtcdPrefix = d.External.Endpoints, d.External.Prefix
	}
	return made, nil
}

// joinTokens lists the tokens, the newest first.
func (d *daemon) joinTokens() []api.JoinTokenInfo {
	out := []api.JoinTokenInfo{}
	for _, token := range d.snapshot().JoinTokens() {
		out = append(out, token.Value.JoinTokenInfo)
	}
	slices.SortFunc(out, func(a, b api.JoinTokenInfo) int { return b.MadeAt.Compare(a.MadeAt) })
	return out
}

// revokeToken deletes a token. Machines that joined with it stay.
func (d *daemon) revokeToken(ctx context.Context, id string) error {
	key := records.JoinTokenKey(id)
	known, err := readStored[records.JoinToken](ctx, d.store, key)
	if err != nil {
		return err
	}
	if !known.Exists() {
		return &api.Problem{Status: http.StatusNotFound, Detail: "there is no token " + id, Next: "tend nodes tokens"}
	}
	revision, err := records.NewTxn("token.revoke").If(key, known.Modified).Delete(key).Commit(ctx, d.store)
	if err != nil {
		return fmt.Errorf("revoke the token: %w", err)
	}
	return d.view.WaitFor(ctx, revision)
}

// mostTries bounds how often a join is decided again after a conflict with a join at another server that used the same
// token or name. Joins at this server run one at a time.
const mostTries = 10

// enter records that a node's name belongs to a machine, and that the machine's token was used. The machine that had
// the name before is refused from now on, since two would run the same tasks.
func (d *daemon) enter(ctx context.Context, a join.Applicant) (machine authority.Machine, err error) {
	err = d.inTurn(ctx, a, func() error {
		machine, err = d.enterOnce(ctx, a)
		return err
	})
	return machine, err
}

// inTurn lets machines join one at a time. A machine with an invalid token neither waits nor makes others wait.
func (d *daemon) inTurn(ctx context.Context, a join.Applicant, enter func() error) error {
	token, err := readStored[records.JoinToken](ctx, d.store, records.JoinTokenKey(a.Secret.ID))
	if err != nil {
		return err
	}
	if refused := join.Check(d.ofToken(token), a, d.Now()); refused != nil {
		return refused
	}
	select {
	case d.joining <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.joining }()
	for range mostTries {
		if err := enter(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return busy(a.Name)
}

func (d *daemon) enterOnce(ctx context.Context, a join.Applicant) (authority.Machine, error) {
	token, err := readStored[records.JoinToken](ctx, d.store, records.JoinTokenKey(a.Secret.ID))
	if err != nil {
		return authority.Machine{}, err
	}
	memberKey := records.MemberKey(a.Name)
	member, err := readStored[records.Member](ctx, d.store, memberKey)
	if err != nil {
		return authority.Machine{}, err
	}
	is, err := d.standing(ctx, token, member, a.Name)
	if err != nil {
		return authority.Machine{}, err
	}
	is.Version = membership.CheckAgentVersion(a.Version, d.versions())
	again, refused := join.Decide(is, a, d.Now())
	switch {
	case refused != nil:
		return authority.Machine{}, refused
	case again:
		return authority.Machine{Node: a.Name, UID: member.Value.UID}, nil
	}
	machine := authority.Machine{Node: a.Name, UID: rand.Text()}
	txn := used(records.NewTxn("member.enter"), token, a.Name).If(memberKey, member.Modified).
		Put(memberKey, records.Member{
			UID: machine.UID, Ingress: token.Value.Role == api.JoinAsIngress, Token: a.Secret.ID, Key: a.Key,
			JoinedAt: d.Now().UTC(),
		})
	return machine, d.record(ctx, txn)
}

// used adds that a token was used to a transaction.
func used(txn *records.Txn, token records.Read[records.JoinToken], by string) *records.Txn {
	record, key := *token.Value, records.JoinTokenKey(token.Value.ID)
	record.Used = append(slices.Clone(record.Used), by)
	return txn.If(key, token.Modified).Put(key, record)
}

// record commits the entry of a machine. It returns store.ErrConflict if another commit came first.
func (d *daemon) record(ctx context.Context, txn *records.Txn) error {
	revision, err := txn.Commit(ctx, d.store)
	if err != nil {
		return fmt.Errorf("record the machine: %w", err)
	}
	return d.view.WaitFor(ctx, revision)
}

// busy returns the refusal of a machine whose join conflicted every time.
func busy(name string) error {
	return &api.Problem{Title: "NodeName", Status: http.StatusConflict, Detail: "many machines join as " + name +
		", or with this token, at this moment",
		Next: "try once more"}
}

// useToken records that a server uses its token to join. fresh is false if it had used it before.
func (d *daemon) useToken(ctx context.Context, a join.Applicant) (fresh bool, err error) {
	err = d.inTurn(ctx, a, func() error {
		token, again, err := d.mayUse(ctx, a)
		if err != nil || again {
			return err
		}
		fresh = true
		return d.record(ctx, used(records.NewTxn("server.token"), token, a.Name))
	})
	return fresh && err == nil, err
}

// mayUse returns an error if a server may not use its token to join. again is set for a server that repeats its request
// because the answer was lost.
func (d *daemon) mayUse(
	ctx context.Context, a join.Applicant,
) (token records.Read[records.JoinToken], again bool, err error) {
	token, err = readStored[records.JoinToken](ctx, d.store, records.JoinTokenKey(a.Secret.ID))
	if err != nil {
		return token, false, err
	}
	is := d.ofToken(token)
	is.Version = membership.CheckServerVersion(a.Version, d.versions())
	again, refused := join.Decide(is, a, d.Now())
	if refused != nil {
		return token, false, refused
	}
	if again && (slices.Contains(token.Value.Settled, a.Name) || d.started(a.Name)) {
		// that server got its answer: another machine uses the token
		return token, false, &api.Problem{Title: "TokenRefused", Status: http.StatusUnauthorized,
			Detail: "the token was used already, by " + a.Name + ", which has started or was removed",
			Next:   "tend nodes add --server prints the command with a new token"}
	}
	return token, again, nil
}

// returnToken undoes a server's use of its token, because it could not join.
func (d *daemon) returnToken(ctx context.Context, a join.Applicant) {
	key := records.JoinTokenKey(a.Secret.ID)
	err := d.inTurn(ctx, a, func() error {
		token, err := readStored[records.JoinToken](ctx, d.store, key)
		if err != nil || !token.Exists() {
			return err
		}
		record := *token.Value
		i := slices.Index(record.Used, a.Name)
		if i < 0 {
			return nil
		}
		record.Used = slices.Delete(slices.Clone(record.Used), i, i+1)
		return d.record(ctx, records.NewTxn("server.token").If(key, token.Modified).Put(key, record))
	})
	if err != nil {
		d.Logger.WarnContext(ctx, "the join failed, but its token stays used", "server",
			a.Name, "error", err)
	}
}

// started reports whether a server of a name has begun to work.
func (d *daemon) started(name string) bool {
	if d.presences()[name] != nil {
		return true
	}
	return d.etcd != nil && slices.ContainsFunc(d.etcd.Members(), func(m etcd.Member) bool { return m.Name == name })
}
