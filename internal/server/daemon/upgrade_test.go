package daemon

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
)

// recordMembers writes the roots of three servers as testdata/members/NAME. Copy this file, earlier_test.go and
// rolling_test.go into the tree of the version that is to be recorded, and run
//
//	go test ./internal/server/daemon -run TestAnUpgradeOfThreeServers -record-members NAME
var recordMembers = flag.String("record-members", "", "name of the version whose three roots are recorded")

const membersFolder = "testdata/members"

// members are the servers of a recorded cluster. Each has an address for the others' stores that its root holds: no
// other test uses it.
var members = []string{"a", "b", "c"}

func memberAddress(i int) string { return fmt.Sprintf("127.111.23.%d:2380", i+1) }

// TestAnUpgradeOfThreeServers: three servers continue with the data of an earlier version's three servers, restarted
// one after the other, while callers read and write. While one is down, the others answer; no acknowledged write is
// lost; all have the same data in the end, and the earlier version's objects and containers are unchanged.
func TestAnUpgradeOfThreeServers(t *testing.T) {
	t.Parallel()
	if *recordMembers != "" {
		recordThree(t, filepath.Join(membersFolder, *recordMembers))
		return
	}
	folders, err := filepath.Glob(membersFolder + "/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no roots: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) { upgradeThree(t, folder) })
	}
}

func upgradeThree(t *testing.T, folder string) {
	s := newSeveral(t, members...)
	var before recorded
	ran := 0
	for _, name := range members {
		unpack(t, filepath.Join(folder, name+".tar.gz"), s.machines[name].root)
		ran += s.restartContainers(name)
	}
	read(t, filepath.Join(s.machines["a"].root, recordedObjects), &before)
	calls := s.mutations()

	for _, name := range members[:2] { // a quorum: neither is ready without the other
		s.running[name] = s.member(name)
	}
	for _, name := range members[:2] {
		s.isReady(name)
	}
	load := s.load()
	defer load.end()
	s.running["c"] = s.member("c")
	s.isReady("c")
	for i, name := range members {
		others := s.running[members[(i+1)%3]]
		if err := s.running[name].stop(); err != nil {
			t.Fatalf("stop %s: %v", name, err)
		}
		load.goesOn(others, name+" is away")
		s.running[name] = s.member(name)
		s.isReady(name)
		load.goesOn(others, name+" is back")
	}
	load.end()
	load.check(s)
	s.agree()
	for _, name := range members {
		s.intact(name, before)
	}
	if now := s.mutations(); now != calls || ran == 0 {
		t.Errorf("%d calls changed containers, of which %d ran before", now-calls, ran)
	}
	a := s.running["a"]
	a.converged(web, a.apply(manifestOf(web, secondVersion(5))))
}

// member starts a server of a recorded cluster.
func (s *several) member(name string) *running {
	return s.machines[name].startWith(func(o *Options) {
		o.Store, o.Name, o.Node, o.NodeListen, o.PeerListen = nil, name, "node-"+name, "127.0.0.1:0",
			memberAddress(slices.Index(members, name))
		o.MinFree, o.NodeTimeout, o.Heartbeat = -1, patience, 0
	})
}

func (s *several) isReady(name string) {
	s.t.Helper()
	r := s.running[name]
	r.untilWithin(patience, name+" is ready", func() bool {
		readiness, err := r.client.Readiness(context.Background())
		return err == nil && readiness.Ready
	})
}

// restartContainers starts the containers that ran on a recorded machine.
func (s *several) restartContainers(name string) int {
	m := s.machines[name]
	var ran []runtime.ContainerSpec
	read(s.t, filepath.Join(m.root, recordedContainers), &ran)
	engine := m.engine.Client(clusterOf(s.t, m), "node-"+name)
	for _, spec := range ran {
		made, err := engine.Create(s.t.Context(), spec)
		if err == nil {
			err = engine.Start(s.t.Context(), made.ID)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return len(ran)
}

// mutations counts the calls that changed containers, on all machines.
func (s *several) mutations() (n int) {
	for _, m := range s.machines {
		n += m.engine.Mutations()
	}
	return n
}

// load are callers that read and write. Each write has a key of its own, so that a lost one can be detected.
type load struct {
	reads, writes calls
	acknowledged  [3]map[string]bool
	end           func()
}

func (s *several) load() *load {
	l := &load{}
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range members {
		c := s.anyOf(members[i], members[(i+1)%3], members[(i+2)%3])
		l.acknowledged[i] = map[string]bool{}
		running.Go(func() {
			l.reads.repeat(stop, func(int) error { _, err := c.Object(s.t.Context(), web); return err })
		})
		running.Go(func() {
			l.writes.repeat(stop, func(n int) error {
				key := fmt.Sprintf("K%d", n)
				_, err := c.SetConfig(s.t.Context(), "load", members[i], api.ConfigRequest{Set: map[string]string{key: "x"}})
				if err == nil {
					l.acknowledged[i][key] = true
				}
				return err
			})
		})
	}
	l.end = sync.OnceFunc(func() { close(stop); running.Wait() })
	return l
}

// goesOn waits until more calls of either sort were answered.
func (l *load) goesOn(r *running, while string) {
	r.t.Helper()
	reads, writes := l.reads.answered.Load(), l.writes.answered.Load()
	r.untilWithin(patience, "calls are answered: "+while, func() bool {
		return l.reads.answered.Load() > reads+10 && l.writes.answered.Load() > writes+10
	})
}

// check demands that every call was answered, and that every server has every write.
func (l *load) check(s *several) {
	for what, made := range map[string]*calls{"reads": &l.reads, "writes": &l.writes} {
		if len(made.failures) > 0 {
			s.t.Errorf("%s without an answer: %v", what, made.failures)
		}
		s.t.Logf("%s: %d answered, %d repeated", what, made.answered.Load(), made.repeated.Load())
	}
	for _, name := range members {
		for i, app := range members {
			has, err := s.running[name].client.ConfigKeys(s.t.Context(), "load", app)
			if err != nil {
				s.t.Fatal(err)
			}
			for key := range l.acknowledged[i] {
				if !slices.Contains(has.Keys, key) {
					s.t.Errorf("%s lost the write of %s that %s was answered", name, key, app)
				}
			}
		}
	}
}

// agree waits until all servers are up and answer with the same revision.
func (s *several) agree() {
	s.t.Helper()
	r := s.running["a"]
	r.untilWithin(patience, "all servers have the same revision", func() bool {
		revisions := map[int64]bool{}
		for _, name := range members {
			pods, err := s.running[name].client.Pods(s.t.Context(), client.PodFilter{})
			if err != nil {
				return false
			}
			revisions[pods.Revision] = true
		}
		servers, err := r.client.Servers(s.t.Context())
		up := err == nil && !slices.ContainsFunc(servers.Items,
			func(one api.Server) bool { return one.State != api.ServerUp })
		return up && len(servers.Items) == 3 && len(revisions) == 1
	})
}

// intact demands that a server has the objects, releases and pods that an earlier version had.
func (s *several) intact(name string, before recorded) {
	s.t.Helper()
	r := s.running[name]
	for _, object := range before.Objects {
		now, err := r.client.Object(s.t.Context(), object.Ref())
		if err != nil || !bytes.Equal(compact(s.t, now.Spec), compact(s.t, object.Spec)) ||
			now.Metadata.UID != object.Metadata.UID ||
			now.Metadata.Generation != object.Metadata.Generation {
			s.t.Errorf("%s: %s: %v, is %+v, was %+v", name, object.Ref(), err, now, object)
		}
		if object.Kind.HasSlots() {
			r.converged(object.Ref(), now.Metadata.Revision)
		}
	}
	is := describeRoot(s.t, r)
	if !slices.Equal(is.Pods, before.Pods) {
		s.t.Errorf("%s: the pods are %v, were %v", name, is.Pods, before.Pods)
	}
	for object, releases := range before.Releases {
		if is.Releases[object] != releases {
			s.t.Errorf("%s: %s has %d releases, had %d: something rolled", name, object, is.Releases[object], releases)
		}
	}
}

// recordThree runs three servers of this version with objects of several kinds, and packs their roots.
func recordThree(t *testing.T, folder string) {
	s := newSeveral(t, members...)
	for i, name := range members {
		s.startWith(name, func(o *Options) {
			o.PeerListen = memberAddress(i)
			if i > 0 {
				token, err := s.running["a"].client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer, Uses: 1000})
				if err != nil {
					t.Fatal(err)
				}
				o.Join, o.Token = token.Address, token.Token
			}
		})
	}
	a := s.running["a"]
	a.untilWithin(patience, "all servers are up", func() bool {
		servers, err := a.client.Servers(t.Context())
		return err == nil && len(servers.Items) == 3 &&
			!slices.ContainsFunc(servers.Items, func(one api.Server) bool { return one.State != api.ServerUp })
	})
	storeObjects(t, a)
	said := describeRoot(t, a)
	for _, name := range []string{"c", "b", "a"} {
		m := s.machines[name]
		var ran []runtime.ContainerSpec
		for _, container := range m.engine.Containers() {
			ran = append(ran, m.engine.Spec(container.Name))
		}
		write(t, filepath.Join(m.root, recordedContainers), ran)
		write(t, filepath.Join(m.root, recordedObjects), said)
		if err := s.running[name].stop(); err != nil {
			t.Log(err) // the last servers have no quorum to deregister with
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range members {
		pack(t, s.machines[name].root, filepath.Join(folder, name+".tar.gz"))
	}
}
