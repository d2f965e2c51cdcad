package ingress

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var (
	epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	shop  = api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "shop"}
	web   = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
)

// harness is a store with its view and the controller over it. The records of all other writers are written by hand.
type harness struct {
	*testing.T
	store *memory.Store
	view  *view.View
	c     *control.Shell
	now   time.Time
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	l := &harness{T: t, store: memory.New(), now: epoch}
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = l.store.Close() })
	<-l.view.Synced()
	l.c = control.New(control.Deps{Snapshot: l.snapshot, Store: l.store, Now: func() time.Time { return l.now }},
		Kind())
	return l
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

func (l *harness) put(key string, record any) {
	l.Helper()
	l.commit(records.NewTxn("test").Put(key, record))
}

func (l *harness) commit(txn *records.Txn) {
	l.Helper()
	revision, err := txn.Commit(l.Context(), l.store)
	if err == nil {
		err = l.view.WaitFor(l.Context(), revision)
	}
	if err != nil {
		l.Fatal(err)
	}
}

func (l *harness) object(ref api.Ref, spec any, stamps map[string]string) {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	l.put(records.ObjectKey(ref), api.Object{
		Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw,
		Metadata: api.Metadata{Generation: 1, Stamps: stamps},
	})
}

func (l *harness) pod(id string, ready bool) {
	l.Helper()
	l.put(records.TaskKey(id), api.Task{
		ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: id, Node: "n1", Desired: api.DesiredRunning,
		CreatedAt: epoch,
	})
	l.put(records.AliveKey("n1"), "n1")
	l.put(records.TaskStatusKey(id), api.TaskStatus{ID: id, Node: "n1", State: api.TaskRunning, Ready: ready})
}

func (l *harness) proxy(edit func(*api.IngressNodeStatus)) {
	l.Helper()
	status := api.IngressNodeStatus{
		Node: "n1", HTTP: api.ListenerStatus{Address: "[::]:80", Wanted: true, Open: true},
		HTTPS: api.ListenerStatus{Address: "[::]:443", Wanted: true, Open: true},
	}
	if edit != nil {
		edit(&status)
	}
	l.put(records.IngressNodeKey("n1"), status)
}

// look reconciles once and returns the status. A second reconcile must write nothing.
func (l *harness) look() api.IngressStatus {
	l.Helper()
	for i := range 2 {
		result, err := l.c.Reconcile(l.Context(), control.Key(shop))
		if err != nil {
			l.Fatal(err)
		}
		if i == 1 && result.Revision != 0 {
			l.Error("a second look wrote something")
		}
		if err := l.view.WaitFor(l.Context(), result.Revision); err != nil {
			l.Fatal(err)
		}
	}
	if dirty := l.c.Dirty(l.now); len(dirty) > 0 {
		l.Errorf("after a reconcile there is more to do: %v", dirty)
	}
	return *l.snapshot().IngressStatus(shop).Value
}

func TestStatus(t *testing.T) {
	tls := api.IngressSpec{Host: "Shop.org", Service: "web", TLS: &api.IngressTLS{}}
	plain := api.IngressSpec{Host: "shop.org", Service: "web"}
	ends := epoch.Add(90 * 24 * time.Hour)
	for name, test := range map[string]struct {
		spec     api.IngressSpec
		stamps   map[string]string
		noProxy  bool
		proxy    func(*api.IngressNodeStatus)
		pods     []bool
		ready    string
		degraded string
		outcome  api.OutcomeState
		url      string
	}{
		"served": {spec: plain, pods: []bool{true, false}, ready: "Served", outcome: api.OutcomeConverged,
			url: "http://shop.org"},
		"no pod yet":    {spec: plain, ready: "NoReadyPods", outcome: api.OutcomeConverged, url: "http://shop.org"},
		"none is ready": {spec: plain, pods: []bool{false}, ready: "NoReadyPods", outcome: api.OutcomePending},
		"no such deployment": {
			spec: api.IngressSpec{Host: "shop.org", Service: "nobody"}, pods: []bool{true}, ready: "NoService",
			outcome: api.OutcomeFailed, degraded: "NoService",
		},
		"another port": {
			spec: plain, pods: []bool{true}, ready: "Served", outcome: api.OutcomeConverged,
			url:   "http://shop.org:8080",
			proxy: func(n *api.IngressNodeStatus) { n.HTTP.Address = "127.0.0.1:8080" },
		},
		"the port is taken": {
			spec: plain, pods: []bool{true}, ready: "NotListening", outcome: api.OutcomeFailed,
			degraded: "NotListening",
			proxy: func(n *api.IngressNodeStatus) {
				n.HTTP = api.ListenerStatus{Address: ":80", Wanted: true, Error: "address already in use"}
			},
		},
		"about to listen": {
			spec: plain, pods: []bool{true}, ready: "Opening", outcome: api.OutcomePending,
			proxy: func(n *api.IngressNodeStatus) { n.HTTP = api.ListenerStatus{Address: ":80"} },
		},
		"a port": {
			spec: api.IngressSpec{Listen: "5432", Service: "web"}, pods: []bool{true}, ready: "Served",
			outcome: api.OutcomeConverged, url: "tcp://*:5432",
			proxy: func(n *api.IngressNodeStatus) {
				n.Ports = map[string]api.ListenerStatus{"5432/tcp": {Address: "[::]:5432", Wanted: true, Open: true}}
			},
		},
		"a port that no proxy has heard of": {
			spec: api.IngressSpec{Listen: "53/udp", Service: "web"}, pods: []bool{true}, ready: "Opening",
			outcome: api.OutcomePending, url: "udp://*:53",
			proxy: func(n *api.IngressNodeStatus) {
				n.Ports = map[string]api.ListenerStatus{"53/tcp": {Address: "[::]:53", Wanted: true, Open: true}}
			},
		},
		"a port that is taken": {
			spec: api.IngressSpec{Listen: "5432", Service: "web"}, pods: []bool{true}, ready: "NotListening",
			outcome: api.OutcomeFailed, degraded: "NotListening",
			proxy: func(n *api.IngressNodeStatus) {
				n.Ports = map[string]api.ListenerStatus{"5432/tcp": {Address: ":5432", Wanted: true,
					Error: "address already in use"}}
			},
		},
		"no proxy at all": {spec: plain, pods: []bool{true}, noProxy: true, ready: "NotListening",
			outcome: api.OutcomeFailed, degraded: "NotListening"},
		"certificate awaited": {spec: tls, pods: []bool{true}, ready: "CertificatePending", outcome: api.OutcomePending,
			url: "https://shop.org"},
		"certificate refused": {
			spec: tls, pods: []bool{true}, ready: "CertificateFailed", outcome: api.OutcomeFailed,
			degraded: "CertificateFailed",
			proxy: func(n *api.IngressNodeStatus) {
				n.Certificates = map[string]api.CertificateStatus{"shop.org": {Error: "too many certificates",
					At: epoch}}
			},
		},
		"certificate there": {
			spec: tls, pods: []bool{true}, ready: "Served", outcome: api.OutcomeConverged, url: "https://shop.org",
			proxy: func(n *api.IngressNodeStatus) {
				n.Certificates = map[string]api.CertificateStatus{"shop.org": {NotAfter: ends, At: epoch}}
			},
		},
		"certificate not renewed": {
			spec: tls, pods: []bool{true}, ready: "Served", outcome: api.OutcomeConverged,
			degraded: "CertificateFailed",
			proxy: func(n *api.IngressNodeStatus) {
				n.Certificates = map[string]api.CertificateStatus{"shop.org": {NotAfter: ends,
					Error: "no route to host", At: epoch}}
			},
		},
		"certificate over": {
			spec: tls, pods: []bool{true}, ready: "CertificateFailed", outcome: api.OutcomeFailed,
			degraded: "CertificateFailed",
			proxy: func(n *api.IngressNodeStatus) {
				n.Certificates = map[string]api.CertificateStatus{"shop.org": {NotAfter: epoch, At: epoch}}
			},
		},
		"of those on demand one is over": {
			spec: api.IngressSpec{Host: "*.shop.org", Service: "web",
				TLS: &api.IngressTLS{OnDemand: true, Ask: "http://x"}},
			pods: []bool{true}, ready: "Served", outcome: api.OutcomeConverged,
			proxy: func(n *api.IngressNodeStatus) {
				n.Certificates = map[string]api.CertificateStatus{"*.shop.org": {NotAfter: epoch, At: epoch}}
			},
		},
		"on demand": {
			spec: api.IngressSpec{Host: "*.shop.org", Service: "web",
				TLS: &api.IngressTLS{OnDemand: true, Ask: "http://x"}},
			pods: []bool{true}, ready: "Served", outcome: api.OutcomeConverged, url: "https://*.shop.org",
		},
		"on a node that is not reached": {
			spec: plain, pods: []bool{true}, ready: "PodsUnreached", outcome: api.OutcomeFailed,
			degraded: "PodsUnreached",
			proxy:    func(n *api.IngressNodeStatus) { n.Unreached = map[string]string{"n1": "connection refused"} },
		},
		"another node is not reached": {
			spec: plain, pods: []bool{true}, ready: "Served", outcome: api.OutcomeConverged,
			proxy: func(n *api.IngressNodeStatus) { n.Unreached = map[string]string{"n7": "connection refused"} },
		},
		"a worker says that it reaches none": {
			spec: api.IngressSpec{Listen: "5432", Service: "web"}, pods: []bool{true}, ready: "Served",
			outcome: api.OutcomeConverged, degraded: "PodsUnreached",
			proxy: func(n *api.IngressNodeStatus) {
				n.HTTP, n.HTTPS, n.Unreached = api.ListenerStatus{}, api.ListenerStatus{}, map[string]string{"n1": "I say so"}
				n.Ports = map[string]api.ListenerStatus{"5432/tcp": {Address: "[::]:5432", Wanted: true, Open: true}}
			},
		},
		"the port is taken, and no node is reached": {
			spec: plain, pods: []bool{true}, ready: "NotListening", outcome: api.OutcomeFailed,
			degraded: "NotListening",
			proxy: func(n *api.IngressNodeStatus) {
				n.HTTP, n.Unreached = api.ListenerStatus{Address: ":80", Wanted: true, Error: "in use"},
					map[string]string{"n1": "connection refused"}
			},
		},
		"paused": {spec: plain, pods: []bool{true}, stamps: map[string]string{api.StampTraffic: "paused"},
			ready: "Paused", outcome: api.OutcomeConverged},
		"maintenance": {spec: plain, pods: []bool{true},
			stamps: map[string]string{api.StampTraffic: "maintenance:back soon"}, ready: "Maintenance",
			outcome: api.OutcomeConverged},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.object(web, api.DeploymentSpec{Ports: []string{"8000"}}, nil)
			l.object(shop, test.spec, test.stamps)
			if !test.noProxy {
				l.proxy(test.proxy)
			}
			for i, ready := range test.pods {
				l.pod(string(rune('a'+i)), ready)
			}
			status := l.look()
			ready := api.FindCondition(status.Conditions, api.ConditionReady)
			degraded := api.FindCondition(status.Conditions, api.ConditionDegraded)
			if ready.Reason != test.ready || (ready.Status == api.ConditionTrue) != (test.ready == "Served") ||
				ready.Message == "" {
				t.Errorf("Ready is %s %s: %s", ready.Status, ready.Reason, ready.Message)
			}
			if want := test.degraded != ""; (degraded.Status == api.ConditionTrue) != want || want &&
				degraded.Reason != test.degraded {
				t.Errorf("Degraded is %s %s: %s", degraded.Status, degraded.Reason, degraded.Message)
			}
			controltest.Outcome(t, *l.snapshot().Object(shop).Value, status, test.outcome)
			if test.url != "" && status.URL != test.url {
				t.Errorf("it is at %s", status.URL)
			}
			if status.ObservedGeneration != 1 || status.Host != strings.ToLower(test.spec.Host) {
				t.Errorf("%+v", status)
			}
		})
	}
}

// TestWhatAnIngressWaitsFor: it says what is missing, and which workload was probably meant.
func TestWhatAnIngressWaitsFor(t *testing.T) {
	none := 0
	for name, test := range map[string]struct {
		spec     api.IngressSpec
		replicas *int
		pods     []bool
		want     string
	}{
		"no pod yet": {api.IngressSpec{Service: "web"}, nil, nil, "waits for deployment/prod/web"},
		"one pod":    {api.IngressSpec{Service: "web"}, nil, []bool{false}, "the pod of prod/web isn't ready"},
		"pods": {api.IngressSpec{Service: "web"}, nil, []bool{false, false},
			"none of the 2 pods of prod/web is ready"},
		"scaled to 0": {api.IngressSpec{Service: "web"}, &none, nil, "deployment/prod/web is scaled to 0"},
		"another name": {api.IngressSpec{Service: "wbe"}, nil, nil,
			"there is no deployment or statefulset prod/wbe; did you mean prod/web?"},
		"nothing near": {api.IngressSpec{Service: "database"}, nil, nil,
			"there is no deployment or statefulset prod/database"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.object(web, api.DeploymentSpec{Ports: []string{"8000"}, Replicas: test.replicas}, nil)
			test.spec.Host = "shop.org"
			l.object(shop, test.spec, nil)
			l.proxy(nil)
			for i, ready := range test.pods {
				l.pod(string(rune('a'+i)), ready)
			}
			status := l.look()
			if c := api.FindCondition(status.Conditions, api.ConditionReady); c.Message != test.want {
				t.Errorf("it says %q, want %q", c.Message, test.want)
			}
		})
	}
}

// TestANameThatNobodyCertifies: for shop.localhost the next step is the cluster's own authority.
func TestANameThatNobodyCertifies(t *testing.T) {
	for host, want := range map[string]string{
		"shop.localhost": `use tls { provider = "internal" } for it`,
		"shop.org":       "let the name resolve to this server",
	} {
		l := newHarness(t)
		l.object(web, api.DeploymentSpec{Ports: []string{"8000"}}, nil)
		l.object(shop, api.IngressSpec{Host: host, Service: "web", TLS: &api.IngressTLS{}}, nil)
		l.proxy(func(n *api.IngressNodeStatus) {
			n.Certificates = map[string]api.CertificateStatus{host: {Error: "rejected", At: epoch}}
		})
		l.pod("a", true)
		status := l.look()
		if c := api.FindCondition(status.Conditions, api.ConditionDegraded); !strings.Contains(c.Next, want) {
			t.Errorf("%s: %s; next: %s", host, c.Message, c.Next)
		}
	}
}

// TestAnIngressThatCantBeRead: a stored spec that this version can't read needs a person.
func TestAnIngressThatCantBeRead(t *testing.T) {
	l := newHarness(t)
	l.object(shop, map[string]any{"host": 7}, nil)
	l.proxy(nil)
	status := l.look()
	for _, condition := range []string{api.ConditionReady, api.ConditionDegraded} {
		if c := api.FindCondition(status.Conditions, condition); c.Reason != api.ReasonInvalidSpec {
			t.Errorf("%+v", c)
		}
	}
	controltest.Outcome(t, *l.snapshot().Object(shop).Value, status, api.OutcomeFailed)
}

// TestAnIngressThatIsGone: its status is deleted too, even if the ingress was deleted while no controller ran.
func TestAnIngressThatIsGone(t *testing.T) {
	l := newHarness(t)
	l.object(shop, api.IngressSpec{Host: "shop.org"}, nil)
	l.look()
	l.commit(records.NewTxn("test").Delete(records.ObjectKey(shop)))
	if keys := l.c.Dirty(l.now); len(keys) != 1 || keys[0] != control.Key(shop) {
		t.Fatalf("%v", keys)
	}
	result, err := l.c.Reconcile(t.Context(), control.Key(shop))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.view.WaitFor(t.Context(), result.Revision); err != nil {
		t.Fatal(err)
	}
	if l.snapshot().IngressStatus(shop).Exists() || len(l.c.Keys()) > 0 {
		t.Error("its status stays")
	}
}

func TestAffected(t *testing.T) {
	l := newHarness(t)
	l.object(shop, api.IngressSpec{Host: "shop.org", Service: "web"}, nil)
	l.pod("a", true)
	other := api.Ref{Kind: api.KindDeployment, Scope: "other", Name: "web"}
	own := []reconciler.Key{control.Key(shop)}
	for name, test := range map[string]struct {
		change view.Change
		want   []reconciler.Key
	}{
		"its object": {view.Change{New: &api.Object{Kind: shop.Kind, Scope: shop.Scope, Name: shop.Name}},
			own},
		"its workload": {view.Change{New: &api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name}}, own},
		"one of its name": {view.Change{New: &api.Object{Kind: other.Kind, Scope: other.Scope, Name: other.Name}},
			nil},
		"a pod":                 {view.Change{New: &api.TaskStatus{ID: "a"}}, own},
		"how its workload is":   {view.Change{Key: records.StatusKey(web), New: &api.WorkloadStatus{}}, own},
		"a pod of no task":      {view.Change{New: &api.TaskStatus{ID: "z"}}, nil},
		"a proxy":               {view.Change{New: &api.IngressNodeStatus{}}, own},
		"what it wrote":         {view.Change{New: &api.IngressStatus{}}, nil},
		"one it may have meant": {view.Change{New: &api.Object{Kind: web.Kind, Scope: web.Scope, Name: "wbe"}}, own},
		"a job":                 {view.Change{New: &api.Object{Kind: api.KindJob, Scope: "prod", Name: "web"}}, nil},
		"something unreadable":  {view.Change{}, nil},
	} {
		got := l.c.Affected(l.snapshot(), test.change)
		if len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestAHostOfAnotherScope: it says whose the host is, and is served once the owner shares it, by the owner's policy.
func TestAHostOfAnotherScope(t *testing.T) {
	l := newHarness(t)
	l.proxy(nil)
	l.object(web, api.DeploymentSpec{}, nil)
	l.pod("w1", true)
	owner := api.Ref{Kind: api.KindIngress, Scope: "bank", Name: "web"}
	const first, later = "2026-01-01T00:00:00Z shop.example", "2026-01-02T00:00:00Z shop.example"
	l.object(owner, api.IngressSpec{Host: "shop.example", TLS: &api.IngressTLS{}},
		map[string]string{api.StampHost: first})
	l.object(shop, api.IngressSpec{Host: "shop.example", Service: "web"}, map[string]string{api.StampHost: later})
	look := func() api.IngressStatus {
		t.Helper()
		result, err := l.c.Reconcile(t.Context(), control.Key(owner))
		if err == nil {
			err = l.view.WaitFor(t.Context(), result.Revision)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l.look()
	}
	status := look()
	for _, condition := range []string{api.ConditionReady, api.ConditionDegraded} {
		if c := api.FindCondition(status.Conditions, condition); c.Reason != api.ReasonHostTaken ||
			!strings.Contains(c.Message, "belongs to an object of another scope") || strings.Contains(c.Message+c.Next, "bank") {
			t.Errorf("%+v", c)
		}
	}
	controltest.Outcome(t, *l.snapshot().Object(shop).Value, status, api.OutcomeFailed)
	change := view.Change{New: l.snapshot().Object(owner).Value}
	if keys := l.c.Affected(l.snapshot(), change); len(keys) != 2 || keys[1] != control.Key(shop) {
		t.Errorf("a change of the owner concerns %v", keys)
	}
	l.object(owner, api.IngressSpec{Host: "shop.example", TLS: &api.IngressTLS{}, SharedWith: []string{"prod"}},
		map[string]string{api.StampHost: first})
	if status = look(); !status.TLS || status.URL != "https://shop.example" {
		t.Errorf("shared: %+v", status)
	}
}

// TestANodeThatCantListenIsNamed: the others serve the host, and a person has to look at that one.
func TestANodeThatCantListenIsNamed(t *testing.T) {
	l := newHarness(t)
	l.object(shop, api.IngressSpec{Host: "shop.org", Service: "web"}, nil)
	l.object(web, api.DeploymentSpec{}, nil)
	l.pod("a", true)
	l.proxy(nil)
	deaf := func(node, fault string) {
		l.put(records.AliveKey(node), node)
		l.put(records.IngressNodeKey(node), api.IngressNodeStatus{
			Node: node, HTTP: api.ListenerStatus{Address: "[::]:80", Wanted: true, Error: fault},
		})
	}
	wants := func(status api.ConditionStatus, reason, message string) {
		t.Helper()
		s := l.look()
		ready, degraded := api.FindCondition(s.Conditions, api.ConditionReady),
			api.FindCondition(s.Conditions, api.ConditionDegraded)
		if ready.Reason != "Served" || degraded.Status != status || degraded.Reason != reason ||
			degraded.Message != message || (degraded.Next == "") != (reason == "AsExpected") {
			t.Errorf("%+v, %+v", ready, degraded)
		}
	}
	wants(api.ConditionFalse, "AsExpected", "")
	deaf("n2", "port 80 is held by nginx (pid 7)")
	wants(api.ConditionTrue, "NotListening", "node n2 can't listen: port 80 is held by nginx (pid 7)")
	deaf("n3", "another fault")
	wants(api.ConditionTrue, "NotListening", "nodes n2, n3 can't listen: port 80 is held by nginx (pid 7)")
	deaf("n2", "")
	deaf("n3", "")
	wants(api.ConditionFalse, "AsExpected", "")
}
