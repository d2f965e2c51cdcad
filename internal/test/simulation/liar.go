package simulation

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/nodeapi/remote"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// In half of the worlds in which agents have machines of their own, one more machine joins and sends false reports:
// about tasks of others, about images that it wasn't asked for, with wrong addresses. Its reports must not change
// anything that the oracle sees, and it must not read anything of others.

const (
	liarNode       = "liar"
	lieOfContainer = "none"
)

// lied reports whether the world has a liar.
func (w *World) lied() bool { return w.several() && w.opts.Seed%20 == 1 }

// liar is that machine.
type liar struct {
	w      *World
	cable  *cable
	client *remote.Client // nil until it has joined
	web    *http.Transport
}

// lieTime bounds a false report: the server may be down.
const lieTime = 5 * time.Second

// lie makes the liar send a false report after some steps.
func (l *liar) lie(step int) {
	random := rand.New(rand.NewPCG(l.w.opts.Seed, 13<<32+uint64(step)))
	if random.IntN(3) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lieTime)
	defer cancel()
	if l.client == nil && !l.join(ctx) {
		return
	}
	tasks := l.tasks(ctx)
	if len(tasks) == 0 {
		return
	}
	l.w.count.faults.Add(1)
	of := anyOf(random, tasks)
	switch random.IntN(6) {
	case 0, 1:
		state := anyOf(random, []api.TaskState{api.TaskAccepted, api.TaskRunning, api.TaskComplete, api.TaskFailed})
		l.w.storyf("%s says that the task %s of another node is %s", liarNode, of.ID, state)
		_ = l.client.Report(ctx, node.Report{Tasks: []api.TaskStatus{
			{ID: of.ID, Node: anyOf(random, []string{liarNode, of.Node}), State: state, Container: lieOfContainer,
				Address: "127.0.0.1"},
		}})
		if said, ok := decodedAt[api.TaskStatus](ctx, l.w.store, records.TaskStatusKey(of.ID)); ok &&
			said.Container == lieOfContainer {
			l.w.fail("what a node says of the task %s of another one is stored", of.ID)
		}
	case 2:
		l.w.storyf("%s forgets the task %s of another node", liarNode, of.ID)
		_ = l.client.Report(ctx, node.Report{Forget: []string{of.ID}})
	case 3:
		l.w.storyf("%s answers for the image of %s", liarNode, of.Owner())
		object, _ := decodedAt[api.Object](ctx, l.w.store, records.ObjectKey(of.Owner()))
		_ = l.client.Report(ctx, node.Report{Images: []api.ImageStatus{ // dropped, or refused if it wasn't asked
			{Owner: of.Owner(), OwnerUID: object.Metadata.UID, Node: liarNode, Image: "web:1", State: api.ImagePresent,
				ImageID: "sha256:evil"},
		}})
	case 4:
		l.w.storyf("%s asks for the environment of the task %s of another node", liarNode, of.ID)
		_, err := l.client.Release(ctx, of)
		if err == nil {
			l.w.fail("a node reads the environment of the task %s of another one", of.ID)
		}
	case 5:
		l.w.storyf("%s says that it is where the node %s is", liarNode, of.Node)
		if err := l.client.ReportNetwork(ctx,
			api.NetworkNodeStatus{Node: of.Node, Address: netip.MustParseAddr("192.0.2.66")}); err == nil {
			l.w.fail("a node speaks as %s, and nobody refuses it", of.Node)
		}
	}
}

// join makes the liar a node, and reports whether it is one.
func (l *liar) join(ctx context.Context) bool {
	if l.w.unmounted.Load() {
		return false
	}
	token, err := l.w.client.JoinToken(ctx, api.JoinTokenRequest{})
	if err != nil {
		return false
	}
	machine, err := join.NewMachine()
	if err != nil {
		l.w.fail("make a machine: %v", err)
		return false
	}
	const server = "https://server:8688"
	known, err := machine.Join(ctx, l.cable.dial, server, token.Token, liarNode)
	if err != nil {
		return false
	}
	pair, err := known.Pair()
	if err != nil {
		l.w.fail("the certificate of a node: %v", err)
		return false
	}
	config, err := authority.NodeTLS(known.Authority, func() (*tls.Certificate, error) { return &pair, nil }, "h2")
	if err != nil {
		l.w.fail("the authority of nodes: %v", err)
		return false
	}
	l.web = &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DialContext: l.cable.dial}
	l.client = remote.New(remote.Options{Server: server, HTTP: &http.Client{Transport: l.web}, Logger: l.w.logger()})
	l.w.storyf("%s joins", liarNode)
	return true
}

// leave closes the liar's connections.
func (l *liar) leave() {
	if l != nil && l.web != nil {
		l.web.CloseIdleConnections()
	}
}

// tasks returns the tasks that are in the store.
func (l *liar) tasks(ctx context.Context) (out []api.Task) {
	page, err := l.w.store.List(ctx, records.TasksPrefix, store.ListOptions{})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil
	}
	for _, entry := range page.Entries {
		decoded, err := records.Decode(entry.Key, entry.Value)
		if task, ok := decoded.(*api.Task); ok && err == nil && task.Node != "" && task.Node != liarNode {
			out = append(out, *task)
		}
	}
	return out
}

// decodedAt reads a record from the store itself.
func decodedAt[T any](ctx context.Context, s store.Store, key string) (record T, ok bool) {
	entry, err := s.Get(ctx, key)
	if err != nil {
		return record, false
	}
	decoded, err := records.Decode(key, entry.Value)
	if found, is := decoded.(*T); is && err == nil {
		return *found, true
	}
	return record, false
}
