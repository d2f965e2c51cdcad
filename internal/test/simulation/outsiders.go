package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// In worlds whose agents are separate processes, machines ask to join that may not: with a token of which a letter is
// wrong, that has expired, that is for another name or for another role, or under the name of another machine. Each is
// refused with a reason, and leaves no record: no machine, no used token.

// outsiderPrefix begins the names of machines that no token is for.
const outsiderPrefix = "outsider-"

// outsiderTTL is the time for which the token of an outsider that comes late is valid.
const outsiderTTL = time.Minute

// outsider is a machine that may not join.
type outsider struct {
	why  string
	node string
	// token is the one that it has; made is as the server made it.
	token string
	made  api.JoinToken
	// server is set if it asks to be a server.
	server bool
}

// letOutsiderAsk lets an outsider ask to join after some steps.
func (w *World) letOutsiderAsk(step int) {
	random := rand.New(rand.NewPCG(w.opts.Seed, 15<<32+uint64(step)))
	if random.IntN(6) > 0 || w.unmounted.Load() || len(w.agents) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lieTime)
	defer cancel()
	s := outsider{node: fmt.Sprint(outsiderPrefix, step)}
	request := api.JoinTokenRequest{Role: api.JoinAsIngress}
	what := random.IntN(7)
	switch what {
	case 1:
		request.TTL = outsiderTTL.String()
	case 2:
		request.Node = "another"
	}
	var err error
	if s.made, err = w.client.JoinToken(ctx, request); err != nil {
		return
	}
	s.token = s.made.Token
	forServers := "tendserver" + strings.TrimPrefix(s.token, "tend")
	switch what {
	case 0:
		s.why, s.token = "a letter of its token is wrong", wrongLast(s.token)
	case 1:
		s.why = "its token has expired"
		w.askLater(s)
		return
	case 2:
		s.why = "its token is for another name"
	case 3:
		s.why, s.token = "its token says that it is for servers", forServers
	case 4:
		s.why, s.server = "it asks to be a server, and its token is for nodes", true
	case 5:
		s.why, s.server, s.token = "its token only says that it is for servers", true, forServers
	case 6:
		m := anyOf(random, w.agents)
		member, known := decodedAt[records.Member](ctx, w.store, records.MemberKey(m.node))
		_, held := decodedAt[api.NodeStatus](ctx, w.store, records.NodeKey(m.node))
		if !known || !held || member.Removed {
			return // the name is free until that machine has joined
		}
		s.why, s.node = "its name is that of another machine", m.node
	}
	w.refuses(ctx, s)
}

// wrongLast returns a token with another last letter.
func wrongLast(token string) string {
	last := "a"
	if strings.HasSuffix(token, last) {
		last = "b"
	}
	return token[:len(token)-1] + last
}

// askLater lets an outsider ask once its token has expired, by the clock of the server's machine.
func (w *World) askLater(s outsider) {
	set := w.clockSet.Load()
	w.people.wait.Go(func() {
		sleepFor(outsiderTTL + time.Second)
		if w.clockSet.Load() != set || w.unmounted.Load() {
			return // who knows what the clock says
		}
		ctx, cancel := context.WithTimeout(context.Background(), lieTime)
		defer cancel()
		w.refuses(ctx, s)
	})
}

// refuses requires that an outsider is refused, and that nothing is stored of it.
func (w *World) refuses(ctx context.Context, s outsider) {
	w.count.faults.Add(1)
	err := w.asksToJoin(ctx, s)
	var problem *api.Problem
	switch {
	case err == nil:
		w.fail("%s may join, although %s", s.node, s.why)
	case !errors.As(err, &problem), problem.Status >= http.StatusInternalServerError:
		w.storyf("%s gets no answer: %v", s.node, err)
	case problem.Next == "":
		w.fail("%s is refused without a next step: %v", s.node, err)
	default:
		w.storyf("%s is refused, since %s: %v", s.node, s.why, err)
	}
	if member, known := decodedAt[records.Member](ctx, w.store, records.MemberKey(s.node)); known &&
		member.Token == s.made.ID {
		w.fail("%s asked to join, although %s: it is a member since", s.node, s.why)
	}
	if used, known := decodedAt[records.JoinToken](ctx, w.store, records.JoinTokenKey(s.made.ID)); known &&
		len(used.Used) > 0 {
		w.fail("%s asked to join, although %s: its token was used by %v", s.node, s.why, used.Used)
	}
}

// asksToJoin sends the request of an outsider over the cable of outsiders.
func (w *World) asksToJoin(ctx context.Context, s outsider) error {
	const server = "https://server:8688"
	dial := w.outsiders.dial
	if s.server {
		_, err := join.JoinServer(ctx, dial, server, s.token, join.Server{Name: s.node, URL: "https://192.0.2.1:2380"})
		return err
	}
	machine, err := join.NewMachine()
	if err != nil {
		w.fail("make a machine: %v", err)
		return err
	}
	_, err = machine.Join(ctx, dial, server, s.token, s.node)
	return err
}

// knowsNoOutsider requires that a commit is about no machine that may not join.
func (w *World) knowsNoOutsider(txn store.Txn) {
	for _, op := range txn.Do {
		for _, prefix := range []string{records.MemberKey(outsiderPrefix), records.NodeKey(outsiderPrefix),
			records.AliveKey(outsiderPrefix)} {
			if strings.HasPrefix(op.Key, prefix) && !op.Delete {
				w.fail("%s stores %s, and that machine may not join", txn.Site, op.Key)
			}
		}
	}
}
