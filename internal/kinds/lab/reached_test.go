package lab

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// listens writes what a node says of its proxy.
func (l *harness) listens(address string, open bool) {
	l.Helper()
	l.Write(func(txn *records.Txn) {
		txn.Put(records.IngressNodeKey("n1"), api.IngressNodeStatus{Node: "n1",
			HTTP: api.ListenerStatus{Address: address, Wanted: true, Open: open}})
	})
}

// TestTheAccessURLFollowsTheProxies: a running lab with a host has an address while a proxy listens, and the one at
// which it does; while none listens its message says so.
func TestTheAccessURLFollowsTheProxies(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := labOf(0, time.Hour)
		spec.Host = "Linux.example.org"
		l.Put(spec, linux)
		wants := func(url string) {
			t.Helper()
			l.Pass(time.Second)
			l.phase(linux, api.LabRunning, api.ReasonRunning)
			s := l.status(linux)
			if s.AccessURL != url || strings.Contains(s.Message, "is not served") != (url == "") {
				t.Errorf("it is at %q, want %q; %s", s.AccessURL, url, s.Message)
			}
		}
		wants("")
		l.listens("127.0.0.1:8080", false)
		wants("")
		l.listens("127.0.0.1:8080", true)
		wants("http://linux.example.org:8080")
		l.listens("[::]:80", true)
		wants("http://linux.example.org")
		l.Write(func(txn *records.Txn) { txn.Delete(records.IngressNodeKey("n1")) })
		wants("")
	})
}

// TestALabThatNoProxyServesSaysWhy, and what to do, for as long as that is so.
func TestALabThatNoProxyServesSaysWhy(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := labOf(0, time.Hour)
		spec.Host = "linux.example.org"
		l.Put(spec, linux)
		for name, tt := range map[string]struct {
			listener  *api.ListenerStatus
			why, next string
		}{
			"no node": {nil, "no node has a proxy", "--ingress-http :80"},
			"off":     {&api.ListenerStatus{}, "the proxies are off", "--ingress-http :80"},
			"taken": {&api.ListenerStatus{Address: ":80", Wanted: true, Error: "nginx holds port 80"},
				"node n1 can't listen: nginx holds port 80", "stop what holds the port"},
			"not yet":   {&api.ListenerStatus{Address: ":80", Wanted: true}, "no proxy listens yet", "tend nodes"},
			"it serves": {&api.ListenerStatus{Address: ":80", Wanted: true, Open: true}, "", ""},
		} {
			l.Write(func(txn *records.Txn) {
				if tt.listener == nil {
					txn.Delete(records.IngressNodeKey("n1"))
					return
				}
				txn.Put(records.IngressNodeKey("n1"), api.IngressNodeStatus{Node: "n1", HTTP: *tt.listener})
			})
			l.Pass(time.Second)
			s := l.status(linux)
			ready := api.FindCondition(s.Conditions, api.ConditionReady)
			if served := tt.why == ""; strings.Contains(s.Message, "is not served") == served ||
				!strings.Contains(ready.Message, tt.why) ||
				(ready.Next == "") != served || !strings.Contains(ready.Next, tt.next) {
				t.Errorf("%s: %q, next %q", name, ready.Message, ready.Next)
			}
		}
	})
}

// TestTheAccessURLFollowsTheNode: a port that is bound to all addresses is at the one that the node has in the network.
func TestTheAccessURLFollowsTheNode(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(time.Second)
		l.Write(func(txn *records.Txn) {
			task := l.Snapshot().TasksOf(linux)[0].Value
			status := *l.Snapshot().TaskStatus(task.ID).Value
			status.Ports = []api.PortBinding{{Container: 80, Protocol: "tcp", HostIP: "0.0.0.0", HostPort: 32768}}
			txn.Put(records.TaskStatusKey(task.ID), status)
		})
		for _, at := range []string{"10.0.0.7", "10.0.0.8"} {
			l.Write(func(txn *records.Txn) {
				txn.Put(records.NetworkNodeKey("n1"), api.NetworkNodeStatus{Node: "n1",
					Address: netip.MustParseAddr(at)})
			})
			l.Pass(time.Second)
			if url := l.status(linux).AccessURL; url != "http://"+at+":32768" {
				t.Errorf("it is at %s, its node at %s", url, at)
			}
		}
	})
}
