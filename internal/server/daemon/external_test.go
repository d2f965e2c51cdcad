package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/server/backup/restore"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/etcd/etcdtest"
)

// reach returns the options with which a server connects to an external etcd.
func reach(c *etcdtest.Cluster) etcd.ExternalOptions {
	return etcd.ExternalOptions{Endpoints: c.Endpoints, CA: c.CA, Certificate: c.Certificate, Key: c.Key}
}

// startOn starts a server on an external etcd. With through it joins by another server.
func (s *several) startOn(c *etcdtest.Cluster, name, through string) *running {
	return s.startWith(name, func(o *Options) {
		o.External = reach(c)
		if through == "" {
			return
		}
		token, err := s.running[through].client.JoinToken(s.t.Context(),
			api.JoinTokenRequest{Role: api.JoinAsServer, Uses: 1000})
		if err != nil || token.EtcdEndpoints[0] != c.Endpoints[0] {
			s.t.Fatalf("%+v, %v", token, err)
		}
		o.Join, o.Token = token.Address, token.Token
	})
}

// TestServersOnAnExternalEtcd: two servers share an etcd that neither runs. Each accepts writes and shows pods of every
// node; when the one with the controllers is lost, the other continues. Without etcd writes are refused until it
// returns.
func TestServersOnAnExternalEtcd(t *testing.T) {
	t.Parallel()
	shared := etcdtest.Start(t, etcdtest.Options{})
	s := newSeveral(t, "a", "b")
	a := s.startOn(shared, "a", "")
	a.converged(web, a.apply(manifestOf(web, replicas(2))))
	b := s.startOn(shared, "b", "a")
	b.converged(web, b.apply(manifestOf(web, replicas(6))))
	nodes := map[string]int{}
	for _, pod := range a.live(web) {
		nodes[pod.Node]++
	}
	if len(nodes) != 2 {
		t.Errorf("6 pods are on %v", nodes)
	}
	b.until("either server shows both, and asks both nodes", func() bool {
		servers, err := b.client.Servers(t.Context())
		stats, _ := b.client.Stats(t.Context(), client.PodFilter{Scope: "prod"})
		for _, pod := range stats.Items {
			if pod.Error != "" {
				return false
			}
		}
		return err == nil && len(servers.Items) == 2 && len(stats.Items) == 6
	})
	s.refuseMembers(a)
	first, left := s.leader("b"), b
	if first == "b" {
		left = a
	}
	if err := s.running[first].stop(); err != nil {
		t.Fatalf("stop %s: %v", first, err)
	}
	revision := left.apply(manifestOf(web,
		func(spec *api.DeploymentSpec) { two := 2; spec.Image, spec.Replicas = "web:2", &two }))
	left.untilWithin(time.Minute, "the controllers go on at the other server", func() bool {
		status, ok := left.status(web)
		return ok && status.ObservedRevision >= revision
	})
	s.keepsNode(left, "node-"+first)
	s.losesEtcd(shared, left)
}

// keepsNode requires that no other machine gets the node of a server that is off: only that name ties the machine to
// it.
func (s *several) keepsNode(left *running, node string) {
	s.t.Helper()
	for _, role := range []string{api.JoinAsServer, api.JoinAsNode} {
		token, err := left.client.JoinToken(s.t.Context(), api.JoinTokenRequest{Role: role})
		if err != nil {
			s.t.Fatal(err)
		}
		if role == api.JoinAsServer {
			_, err = join.JoinServer(s.t.Context(), nil, "https://"+token.Address, token.Token,
				join.Server{Name: "c", Node: node})
		} else {
			_, err = joins(s.t, token, node)
		}
		if err == nil || !strings.Contains(err.Error(), node+" is the node of server") {
			s.t.Errorf("a %s called like the node of a server that is off: %v", role, err)
		}
	}
}

// losesEtcd stops etcd under a server, and starts it again.
func (s *several) losesEtcd(shared *etcdtest.Cluster, left *running) {
	shared.Stop(0)
	scale := func(n int) error {
		_, err := left.client.Scale(context.Background(), client.Target{Kind: web.Kind, Scope: web.Scope, Name: web.Name}, n)
		return err
	}
	left.untilWithin(time.Minute, "writes are refused without etcd", func() bool {
		var problem *api.Problem
		return errors.As(scale(3), &problem) && problem.Status == 503 &&
			strings.Contains(problem.Detail, "etcd does not answer") && strings.Contains(problem.Next, "etcdctl endpoint health")
	})
	if objects, err := left.client.Objects(context.Background(), api.KindDeployment, client.ObjectFilter{}); err != nil ||
		len(objects.Items) != 1 {
		s.t.Errorf("reading without etcd: %v", err)
	}
	shared.Resume(0)
	left.untilWithin(time.Minute, "writes go on by themselves", func() bool { return scale(3) == nil })
	left.untilWithin(time.Minute, "and the controllers too", func() bool { return len(left.live(web)) == 3 })
}

// refuseMembers checks that the operations on members are refused with an external etcd.
func (s *several) refuseMembers(r *running) {
	_, err := r.client.RemoveServer(s.t.Context(), "b")
	var problem *api.Problem
	if !errors.As(err, &problem) || !strings.Contains(problem.Next, "stop tend server") {
		s.t.Errorf("removing a server: %v", err)
	}
}

// TestBackupOfAnExternalEtcd: it is restored to a root with an embedded store, over which containers keep running.
func TestBackupOfAnExternalEtcd(t *testing.T) {
	t.Parallel()
	shared := etcdtest.Start(t, etcdtest.Options{})
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.startWith(func(o *Options) { o.Store, o.MinFree, o.External = nil, -1, reach(shared) }).ready()
	r.setConfig(web, map[string]string{"SECRET": "s1"})
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	before, file := r.live(web), r.takeBackup()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := restore.Restore(t.Context(), bytes.NewReader(file),
		restore.Options{Root: m.root, Force: true}); err != nil {
		t.Fatal(err)
	}
	again := m.startWith(func(o *Options) { o.Store, o.MinFree, o.External = nil, -1, reach(shared) })
	if err := again.ended(); err == nil || !strings.Contains(err.Error(), "leave the flag out") {
		t.Errorf("with the external etcd again: %v", err)
	}
	r = m.startWith(func(o *Options) { o.Store, o.MinFree = nil, -1 })
	r.until("it resumes", func() bool {
		_, err := r.client.Resume(t.Context(), api.UnknownKeep)
		return err == nil
	})
	r.ready().converged(web, r.apply(manifestOf(web, replicas(2))))
	if after := r.live(web); len(after) != 2 || after[0].Name != before[0].Name || after[1].Name != before[1].Name {
		t.Errorf("%v became %v", before, after)
	}
	if config, err := r.client.ConfigValue(t.Context(), "prod", "web", "SECRET"); err != nil || config != "s1" {
		t.Errorf("the secret is %q, %v", config, err)
	}
}

// ended waits until a server has ended by itself, and returns its error.
func (r *running) ended() error {
	err := <-r.done
	r.done <- err
	return err
}

// TestARootKeepsItsStore: a root that has a cluster is not silently started with another one.
func TestARootKeepsItsStore(t *testing.T) {
	t.Parallel()
	shared, other := etcdtest.Start(t, etcdtest.Options{}), etcdtest.Start(t, etcdtest.Options{})
	external := func(c *etcdtest.Cluster) func(*Options) {
		return func(o *Options) { o.Store, o.MinFree, o.External = nil, -1, reach(c) }
	}
	embedded := func(o *Options) { o.Store, o.MinFree = nil, -1 }
	outside, inside := newMachine(t), newMachine(t)
	for m, edit := range map[*machine]func(*Options){outside: external(shared), inside: embedded} {
		if err := m.startWith(edit).ready().stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		reason string
		on     *machine
		edit   func(*Options)
		want   string
	}{
		{"its cluster is in etcd", outside, embedded, "give --etcd-endpoints as before"},
		{"its cluster is in another etcd", outside, external(other), "check --etcd-endpoints and --etcd-prefix"},
		{"its cluster is inside", inside, external(shared), "leave the flag out"},
		{"the etcd has a cluster whose keys are missing", newMachine(t), external(shared), "join with an empty --root"},
		{"it keeps its name", outside, func(o *Options) { external(shared)(o); o.Name = "x" }, "leave the flag out"},
	} {
		err := c.on.startWith(c.edit).ended()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.reason, err, c.want)
		}
	}
	again := outside.startWith(external(shared)).ready()
	twin := newMachine(t)
	key, err := os.ReadFile(filepath.Join(outside.root, "secret.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(twin.root, "secret.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.startWith(external(shared)).ended(); err == nil ||
		!strings.Contains(err.Error(), "another server called n1") {
		t.Errorf("a second server of a name: %v", err)
	}
	if err := again.stop(); err != nil {
		t.Error(err)
	}
}
