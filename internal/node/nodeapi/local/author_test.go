package local

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// overtaken is a store in which something else is committed just before the first commit of a node.
type overtaken struct {
	store.Store
	once sync.Once
	by   *records.Txn
}

func (o *overtaken) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	var err error
	o.once.Do(func() { _, err = o.by.Commit(ctx, o.Store) })
	if err != nil {
		return 0, err
	}
	return o.Store.Commit(ctx, txn)
}

// listed is a store in which something is committed before its first list of a prefix.
type listed struct {
	store.Store
	once   sync.Once
	prefix string
	by     *records.Txn
}

func (l *listed) List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error) {
	if prefix == l.prefix {
		l.once.Do(func() { _, _ = l.by.Commit(ctx, l.Store) })
	}
	return l.Store.List(ctx, prefix, opts)
}

// TestACertificateThatComesLate: a node that is removed while it stores a certificate stores none.
func TestACertificateThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		begin := records.NewTxn("test").Put(records.ClusterKey, records.Cluster{UID: "c"}).Put(records.MemberKey("n1"),
			records.Member{UID: "a", Ingress: true})
		if _, err := begin.Commit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		over := &listed{Store: s, prefix: records.ClusterKey,
			by: records.NewTxn("test").Put(records.MemberKey("n1"), records.Member{Removed: true})}
		v := view.New(over, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		all := certmagic.FileStorage{Path: t.TempDir()}
		c := New(Options{Store: over, View: v, Certificates: &all}).Node("n1")
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = v.Run(ctx)
		}()
		<-v.Synced()
		const key = "acme/ca/a.key"
		if err := c.Certificates().Store(t.Context(), key, []byte("x")); !errors.Is(err, node.ErrForbidden) ||
			all.Exists(t.Context(), key) {
			t.Errorf("%v, and it is stored: %v", err, all.Exists(t.Context(), key))
		}
		cancel()
		<-ended
	})
}

// TestARequestThatIsOvertaken: what a node wrote in a request that was under way when it was removed, or when another
// machine got its name, isn't stored, whatever it is. A node that has no record, or whose record changed in something
// else, goes on.
func TestARequestThatIsOvertaken(t *testing.T) {
	const id = "n1"
	machine, other := records.Member{UID: "a", Ingress: true}, records.Member{UID: "b", Ingress: true}
	renewed := machine
	renewed.Issuer = "i"
	for name, test := range map[string]struct {
		first *records.Member
		then  *records.Member
		taken bool
	}{
		"removed":                      {&machine, &records.Member{Removed: true}, false},
		"removed, without a record":    {nil, &records.Member{Removed: true}, false},
		"another machine":              {&machine, &other, false},
		"its certificate was renewed":  {&machine, &renewed, true},
		"nothing":                      {&machine, nil, true},
		"nothing, without a record":    {nil, nil, true},
		"this server learns its entry": {nil, &machine, true},
	} {
		for path, write := range map[string]struct {
			key string
			by  func(context.Context, *Control) error
		}{
			"facts": {records.NodeKey(id), func(ctx context.Context, c *Control) error {
				return c.Report(ctx, node.Report{Node: &api.NodeStatus{ID: id, Ready: true}})
			}},
			"task": {records.TaskStatusKey("t1"), func(ctx context.Context, c *Control) error {
				return c.Report(ctx, node.Report{Tasks: []api.TaskStatus{{ID: "t1", Node: id, State: api.TaskRunning}}})
			}},
			"network": {records.NetworkNodeKey(id), func(ctx context.Context, c *Control) error {
				return c.ReportNetwork(ctx, api.NetworkNodeStatus{Node: id, Address: netip.MustParseAddr("192.0.2.1")})
			}},
			"ingress": {records.IngressNodeKey(id), func(ctx context.Context, c *Control) error {
				return c.ReportIngress(ctx, api.IngressNodeStatus{Node: id, HTTP: api.ListenerStatus{Address: ":80"}})
			}},
			"heartbeat": {records.AliveKey(id),
				func(ctx context.Context, c *Control) error { return c.Alive(ctx, time.Minute) }},
		} {
			t.Run(name+"/"+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := memory.New()
					defer s.Close()
					begin := records.NewTxn("test").Put(records.ClusterKey, records.Cluster{UID: "c"}).CreateTask(api.Task{
						ID: "t1", Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: "1", Class: api.ClassKeep, Node: id,
						Desired: api.DesiredRunning,
					})
					if test.first != nil {
						begin.Put(records.MemberKey(id), *test.first)
					}
					if _, err := begin.Commit(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					by := records.NewTxn("test")
					if test.then != nil {
						by.Put(records.MemberKey(id), *test.then)
					}
					over := &overtaken{Store: s, by: by}
					v := view.New(over, view.Options{Decode: records.Decode, Indexes: records.Indexes})
					c := New(Options{Store: over, View: v, Own: id}).Node(id)
					defer c.Close()
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						_ = v.Run(ctx)
					}()
					<-v.Synced()
					err := write.by(t.Context(), c)
					_, unread := s.Get(t.Context(), write.key)
					if test.taken && errors.Is(err, store.ErrConflict) { // it is sent again
						err = write.by(t.Context(), c)
						_, unread = s.Get(t.Context(), write.key)
					}
					switch {
					case test.taken && (err != nil || unread != nil):
						t.Errorf("%v, %v", err, unread)
					case !test.taken && (!errors.Is(err, node.ErrForbidden) && !errors.Is(err, store.ErrConflict) || unread == nil):
						t.Errorf("%v, and it is stored: %v", err, unread == nil)
					}
					cancel()
					<-ended
				})
			})
		}
	}
}
