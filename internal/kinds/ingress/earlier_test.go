package ingress

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestWhatAnEarlierLifeReportedIsNotBelieved: the listeners and the pods of a node count while its agent says so.
func TestWhatAnEarlierLifeReportedIsNotBelieved(t *testing.T) {
	off := func(l *harness) {
		l.put(records.IngressNodeKey("n1"), api.IngressNodeStatus{Node: "n1"})
	}
	for name, test := range map[string]struct {
		spec                  api.IngressSpec
		later                 func(*harness)
		reason, message, next string
	}{
		"the listeners are off": {api.IngressSpec{Host: "shop.org"}, off,
			"NotListening", "no node has a proxy for it", "--ingress-http :80"},
		"with TLS": {api.IngressSpec{Host: "shop.org", TLS: &api.IngressTLS{}}, off,
			"NotListening", "no node has a proxy for it", "--ingress-https :443"},
		"a port": {api.IngressSpec{Listen: "5432"}, off,
			"NotListening", "no node has a proxy for it", "--ingress-http :80"},
		"the node with the proxy is silent": {api.IngressSpec{Host: "shop.org"}, func(l *harness) {
			l.commit(records.NewTxn("test").Delete(records.AliveKey("n1")))
		}, "NotListening", "node n1, which has the proxy for it, does not answer", "start the agent of node n1"},
		"another proxy listens": {api.IngressSpec{Host: "shop.org"}, func(l *harness) {
			l.commit(records.NewTxn("test").Delete(records.AliveKey("n1")))
			l.put(records.IngressNodeKey("n2"), api.IngressNodeStatus{
				Node: "n2", HTTP: api.ListenerStatus{Address: "[::]:80", Wanted: true, Open: true},
			})
		}, "Served", "1 of 1 pods", ""},
		"the engine was not asked yet": {api.IngressSpec{Host: "shop.org"}, func(l *harness) {
			l.put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Reason: api.ReasonEngineUnavailable})
		}, "NoReadyPods", "the pod of prod/web isn't ready", "tend describe prod/web"},
		"the engine has answered before": {api.IngressSpec{Host: "shop.org"}, func(l *harness) {
			l.put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Runtime: "docker", Reason: api.ReasonEngineUnavailable})
		}, "Served", "1 of 1 pods", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.object(web, api.DeploymentSpec{Ports: []string{"8000"}}, nil)
			test.spec.Service = "web"
			l.object(shop, test.spec, nil)
			l.proxy(func(status *api.IngressNodeStatus) {
				open := api.ListenerStatus{Address: "[::]:5432", Wanted: true, Open: true}
				at := test.spec.ListensAt()
				status.Ports = map[string]api.ListenerStatus{at.String(): open}
				status.Certificates = map[string]api.CertificateStatus{"shop.org": {NotAfter: epoch.AddDate(1, 0, 0)}}
			})
			l.put(records.AliveKey("n1"), "n1")
			l.put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Ready: true, Runtime: "docker"})
			l.put(records.AliveKey("n2"), "n2")
			l.put(records.TaskKey("b"), api.Task{ID: "b", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "b",
				Node: "n2", Desired: api.DesiredRunning, CreatedAt: epoch})
			l.put(records.TaskStatusKey("b"), api.TaskStatus{ID: "b", Node: "n2", State: api.TaskRunning, Ready: true})
			if c := api.FindCondition(l.look().Conditions, api.ConditionReady); c.Reason != "Served" {
				t.Fatalf("at first it is %s: %s", c.Reason, c.Message)
			}
			test.later(l)
			status := l.look()
			ready := api.FindCondition(status.Conditions, api.ConditionReady)
			degraded := api.FindCondition(status.Conditions, api.ConditionDegraded)
			if ready.Reason != test.reason || !strings.Contains(ready.Message, test.message) {
				t.Errorf("it is %s: %s", ready.Reason, ready.Message)
			}
			if test.reason == "NotListening" && (degraded.Reason != test.reason ||
				!strings.Contains(degraded.Next, test.next)) {
				t.Errorf("Degraded is %s %s, next %q", degraded.Status, degraded.Reason, degraded.Next)
			}
		})
	}
}
