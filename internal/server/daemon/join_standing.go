package daemon

import (
	"context"
	"errors"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// ofToken holds what is known of a token alone. A machine may change the authority that its token names: what was
// recorded when it was made counts. Tokens of earlier versions have no such record, and end in a day.
func (d *daemon) ofToken(token records.Read[records.JoinToken]) (is join.Standing) {
	if token.Exists() {
		is.Token, is.Hash = &token.Value.JoinTokenInfo, token.Value.Hash
		is.Former = token.Value.Authority != "" &&
			!slices.Contains(d.nodeListener.desk.Authority.Fingerprints(), token.Value.Authority)
	}
	return is
}

// standing holds what the store knows of a token and of a node's name.
func (d *daemon) standing(ctx context.Context, token records.Read[records.JoinToken],
	member records.Read[records.Member], node string,
) (join.Standing, error) {
	facts, err := readStored[api.NodeStatus](ctx, d.store, records.NodeKey(node))
	if err != nil {
		return join.Standing{}, err
	}
	_, err = d.store.Get(ctx, records.AliveKey(node))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return join.Standing{}, err
	}
	alive := err == nil
	declared, err := readStored[api.Object](ctx, d.store,
		records.ObjectKey(api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: node}))
	if err != nil {
		return join.Standing{}, err
	}
	is := d.ofToken(token)
	is.Held, is.Alive, is.Ingress = facts.Exists(), alive, declaresIngress(declared)
	named := nodeOf(node, member)
	if d.host != nil && node == d.Node {
		named.Server, named.Agent = d.Name, false
	}
	is.Server = membership.CheckAgent(named, d.serverList(named))
	if member.Exists() {
		// A machine that has never said anything has nothing that another one could take: it may have died while it
		// joined. The node of a server that was removed is free for the machine, which goes on as an agent.
		former := member.Value.Server != "" && is.Server == nil
		is.Alive = is.Alive && !former
		is.Held = is.Held && !member.Value.Removed && !former
		is.HeldToken, is.HeldKey = member.Value.Token, member.Value.Key
	}
	return is, nil
}

// declaresIngress reports whether a node is declared to serve ingresses.
func declaresIngress(object records.Read[api.Object]) bool {
	if !object.Exists() || object.Value.Metadata.Deleting() {
		return false
	}
	spec, err := api.DecodeSpec[api.NodeSpec](*object.Value)
	return err != nil || spec.Ingress != nil && *spec.Ingress
}
