package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/server/backup/restore"
)

var loopbacks atomic.Int32

// loopback returns an address of this machine that no other test has: a member of a store can't be given a listener.
func loopback() string {
	return fmt.Sprintf("127.%d.%d.%d:2380", 1+os.Getpid()>>8&0x7f, os.Getpid()&0xff, loopbacks.Add(1))
}

// several are the machines of a cluster with several servers, by the servers' names.
type several struct {
	t        *testing.T
	machines map[string]*machine
	running  map[string]*running
}

func newSeveral(t *testing.T, names ...string) *several {
	s := &several{t: t, machines: map[string]*machine{}, running: map[string]*running{}}
	for _, name := range names {
		s.machines[name] = newMachine(t)
		s.machines[name].engine.AddImage("web:1")
		s.machines[name].engine.AddImage("web:2")
	}
	return s
}

// start starts a server and waits until it is ready. With through it joins by another server.
func (s *several) start(name, through string) *running {
	s.t.Helper()
	return s.startWith(name, func(o *Options) {
		if through == "" {
			o.PeerListen = loopback()
			return
		}
		o.PeerListen = loopback()
		token, err := s.running[through].client.JoinToken(s.t.Context(),
			api.JoinTokenRequest{Role: api.JoinAsServer, Uses: 1000})
		if err != nil {
			s.t.Fatal(err)
		}
		o.Join, o.Token = token.Address, token.Token
	})
}

// startWith starts a server with options of the test's own, and waits until it and its node are ready: pods may be
// placed there.
func (s *several) startWith(name string, edit func(*Options)) *running {
	s.t.Helper()
	s.boot(name, edit)
	s.ready(name)
	return s.running[name]
}

// boot starts a server with options of the test's own.
func (s *several) boot(name string, edit func(*Options)) {
	s.t.Helper()
	s.running[name] = s.machines[name].startWith(func(o *Options) {
		o.Store, o.Name, o.Node, o.NodeListen = nil, name, "node-"+name, "127.0.0.1:0"
		o.MinFree, o.NodeTimeout, o.Heartbeat = -1, 10*time.Second, time.Second
		edit(o)
	})
}

// ready waits until a server and its node are ready.
func (s *several) ready(name string) {
	s.t.Helper()
	s.untilUp(name, name+" is ready", func() bool {
		readiness, err := s.running[name].client.Readiness(context.Background())
		nodes, unknown := s.running[name].client.Nodes(context.Background())
		return err == nil && readiness.Ready && unknown == nil &&
			slices.ContainsFunc(nodes.Items, func(node api.NodeInfo) bool {
				return node.ID == "node-"+name && node.Ready && node.Alive
			})
	})
}

// untilUp waits for a condition of a server that runs.
func (s *several) untilUp(name, what string, holds func() bool) {
	s.t.Helper()
	s.running[name].untilWithin(patience, what, func() bool {
		select {
		case err := <-s.running[name].done:
			s.running[name].done <- err
			s.t.Fatalf("%s ended: %v", name, err)
		default:
		}
		return holds()
	})
}

// leader returns the server whose controllers run, as another one sees it.
func (s *several) leader(asked string) string {
	servers, err := s.running[asked].client.Servers(s.t.Context())
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(servers.Items, func(one api.Server) bool { return one.Leads })
	if i < 0 {
		return ""
	}
	return servers.Items[i].Name
}

// TestThreeServers: a server with data becomes three. Any of them accepts writes and shows pods of every node; a file
// uploaded to one reaches all. When the server with the controllers is lost in the middle of a rollout, another one
// continues it; writes are refused while there is no quorum.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, "a", "b", "c")
	old := s.machines["a"].startWith(func(o *Options) { o.Store, o.Name, o.Node, o.MinFree = nil, "a", "node-a", -1 }).ready()
	old.converged(web, old.apply(manifestOf(web, replicas(2))))
	before := s.machines["a"].engine.Client(clusterOf(t, s.machines["a"]), "node-a")
	containers, err := before.List(t.Context())
	if err != nil || len(containers) != 2 {
		t.Fatalf("%v, %v", containers, err)
	}
	if err := old.stop(); err != nil {
		t.Fatal(err)
	}
	a := s.start("a", "")
	b := s.start("b", "a")
	c := s.start("c", "b")
	if after, err := before.List(t.Context()); err != nil || len(after) != 2 || after[0].ID != containers[0].ID ||
		after[1].ID != containers[1].ID {
		t.Errorf("containers from before are others now: %v, %v", after, err)
	}
	content := bytes.Repeat([]byte("x"), 5000)
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if err := b.client.PutBlob(t.Context(), digest, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	b.apply(api.Object{Kind: api.KindAsset, Scope: "prod", Name: "files",
		Spec: []byte(`{"files":{"f":{"_source":"file","digest":"` + digest + `"}}}`)})
	b.untilWithin(time.Minute, "every server has the file", func() bool { return s.hold(digest) == 3 })
	if err := os.Remove(filepath.Join(s.machines["a"].root, "blobs", "sha256", digest[len("sha256:"):])); err != nil {
		t.Fatal(err)
	}
	if made, err := restore.Verify(t.Context(), bytes.NewReader(a.takeBackup()), ""); err != nil ||
		!made.Blobs()[digest] || len(made.MissingBlobs) > 0 {
		t.Errorf("a backup lacks a file that other servers have: %v, %v", made.MissingBlobs, err)
	}
	b.converged(web, b.apply(manifestOf(web, replicas(9))))
	nodes := map[string]int{}
	for _, pod := range c.live(web) {
		nodes[pod.Node]++
	}
	if len(nodes) != 3 {
		t.Errorf("9 pods are on %v", nodes)
	}
	c.untilWithin(time.Minute, "any server asks every node", func() bool {
		stats, err := c.client.Stats(t.Context(), client.PodFilter{Scope: "prod"})
		return err == nil && len(stats.Items) == 9 &&
			!slices.ContainsFunc(stats.Items, func(p api.PodStats) bool { return p.Error != "" })
	})
	s.loses(a, b, c)
}

// loses stops servers one after the other.
func (s *several) loses(a, b, c *running) {
	t := s.t
	first := s.leader("b")
	lead, others := s.running[first], []*running{}
	for _, one := range []*running{a, b, c} {
		if one != lead {
			others = append(others, one)
		}
	}
	nine := 9
	revision := others[0].apply(manifestOf(web,
		func(spec *api.DeploymentSpec) { spec.Image, spec.Replicas = "web:2", &nine }))
	others[0].untilWithin(time.Minute, "the rollout has begun", func() bool {
		status, ok := others[0].status(web)
		return ok && status.Rollout != nil && status.Rollout.TargetRelease != "" && status.Updated > 0
	})
	if err := lead.stop(); err != nil {
		t.Fatalf("stop %s: %v", first, err)
	}
	others[1].untilWithin(time.Minute, "the rollout ends without its server", func() bool {
		status, ok := others[1].status(web)
		return ok && status.ObservedRevision >= revision && status.Rollout != nil &&
			status.Rollout.Phase == api.RolloutComplete
	})
	if err := others[1].stop(); err != nil {
		t.Fatal(err)
	}
	left := others[0]
	left.untilWithin(time.Minute, "writes are refused without a quorum", func() bool {
		_, err := left.client.Scale(t.Context(), client.Target{Kind: web.Kind, Scope: web.Scope, Name: web.Name}, 8)
		var problem *api.Problem
		return errors.As(err, &problem) && strings.Contains(problem.Detail, "2 of the 3 servers must be up") &&
			strings.Contains(problem.Next, "tend servers")
	})
	if servers, err := left.client.Servers(t.Context()); err != nil || servers.Quorum == "" {
		t.Errorf("the servers without a quorum: %+v, %v", servers, err)
	}
	if objects, err := left.client.Objects(t.Context(), api.KindDeployment, client.ObjectFilter{}); err != nil ||
		len(objects.Items) != 1 {
		t.Errorf("reading without a quorum: %v", err)
	}
}

// hold returns the number of servers that have a file's bytes.
func (s *several) hold(digest string) (n int) {
	for _, m := range s.machines {
		_ = filepath.WalkDir(filepath.Join(m.root, "blobs"), func(path string, _ os.DirEntry, _ error) error {
			if strings.HasSuffix(path, strings.TrimPrefix(digest, "sha256:")) {
				n++
			}
			return nil
		})
	}
	return n
}

// clusterOf returns the uid of the cluster that a machine's server founded.
func clusterOf(t *testing.T, m *machine) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(m.root, "clusters"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	return entries[0].Name()
}

// TestReachable: a listener on every interface is reached by the name that others know, not by a host name they may
// not.
func TestReachable(t *testing.T) {
	for _, test := range [][3]string{
		{"[::]:8688", "10.0.0.1", "10.0.0.1:8688"}, {"0.0.0.0:8688", "a.example", "a.example:8688"},
		{"10.0.0.2:8688", "10.0.0.1", "10.0.0.2:8688"},
	} {
		if got := reachable(test[0], test[1]); got != test[2] {
			t.Errorf("%s as %s: %s, want %s", test[0], test[1], got, test[2])
		}
	}
}

// TestAServerKeepsItsName: the others know it by that, and its root remembers it.
func TestAServerKeepsItsName(t *testing.T) {
	root := t.TempDir()
	name := func(flag string, settings peer.Settings) (string, error) {
		d := &daemon{Options: Options{Options: host.Options{Root: root, Data: filepath.Join(root, "state"), Node: "h1"},
			Name: flag}}
		err := d.chooseName(settings, settings.Name != "")
		if err == nil {
			err = d.rememberName()
		}
		return d.Name, err
	}
	for _, step := range []struct {
		reason, flag string
		settings     peer.Settings
		want         string
	}{
		{reason: "the first start", want: "h1"},
		{reason: "alone it may be renamed", flag: "a", want: "a"},
		{reason: "and is called so from then on", want: "a"},
		{reason: "beside others too", settings: peer.Settings{Name: "a"}, want: "a"},
		{reason: "the name that it has", flag: "a", settings: peer.Settings{Name: "a"}, want: "a"},
		{reason: "another name, beside others", flag: "b", settings: peer.Settings{Name: "a"}},
	} {
		got, err := name(step.flag, step.settings)
		if step.want == "" && (err == nil || !strings.Contains(err.Error(), "--root")) ||
			step.want != "" && (err != nil || got != step.want) {
			t.Errorf("%s: %q, %v, want %q", step.reason, got, err, step.want)
		}
	}
}
