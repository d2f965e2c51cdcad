package ingress

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/notify/notifytest"
	"tend.dev/tend/internal/store/records"
)

// certificate has the proxy report one of the host.
func (l *harness) certificate(c api.CertificateStatus) {
	l.Helper()
	c.At = l.now
	l.proxy(func(n *api.IngressNodeStatus) { n.Certificates = map[string]api.CertificateStatus{"shop.org": c} })
}

// TestWhatPeopleAreSent: what people get a message about, from the statuses that the controller writes, by the rows of
// the sink's page.
func TestWhatPeopleAreSent(t *testing.T) {
	text, err := os.ReadFile(notifytest.File)
	page := notifytest.PageOf(t, text, err)
	month := 30 * 24 * time.Hour
	old := api.CertificateStatus{NotAfter: epoch.Add(month)}
	refused := api.CertificateStatus{Error: "no route to host"}
	for name, tc := range map[string]struct {
		row    string
		begins func(*harness)
		then   []func(*harness)
		want   string // the reason
	}{
		"awaited": {"a certificate is being got, or is renewed in time", func(l *harness) { l.proxy(nil) },
			[]func(*harness){func(l *harness) { l.certificate(old) }}, ""},
		"renewed": {"a certificate is being got, or is renewed in time", func(l *harness) { l.certificate(old) },
			[]func(*harness){func(l *harness) {
				l.now = epoch.Add(month - 240*time.Hour)
				l.certificate(api.CertificateStatus{NotAfter: epoch.Add(3 * month)})
			}, func(l *harness) { l.now = epoch.Add(2 * month) }}, ""},
		"refused": {"a certificate can't be got", func(l *harness) { l.proxy(nil) },
			[]func(*harness){func(l *harness) { l.certificate(refused) }}, "CertificateFailed"},
		"not renewed": {"a certificate is about to expire: an attempt to renew it failed",
			func(l *harness) { l.certificate(old) }, []func(*harness){func(l *harness) {
				l.now = epoch.Add(month - 240*time.Hour)
				l.certificate(api.CertificateStatus{NotAfter: old.NotAfter, Error: "no route to host"})
			}}, "CertificateFailed"},
		"over": {"a certificate has expired", func(l *harness) { l.certificate(old) },
			[]func(*harness){func(l *harness) { l.now = epoch.Add(month) }}, "CertificateFailed"},
		"the only pod is replaced": {"the only pod of an app is replaced, and no pod is ready in between",
			func(l *harness) { l.certificate(old) }, []func(*harness){
				func(l *harness) {
					l.commit(records.NewTxn("test").Delete(records.TaskKey("a")).Delete(records.TaskStatusKey("a")))
					l.workload(true, false)
					l.pod("b", false)
				},
				func(l *harness) { l.workload(false, false); l.podWas("b", true) },
			}, ""},
		"a crash": {"a pod crashes once and is back within 30 s", func(l *harness) { l.certificate(old) },
			[]func(*harness){
				func(l *harness) { l.workload(true, false); l.podWas("a", false) },
				func(l *harness) { l.now = l.now.Add(29 * time.Second) },
				func(l *harness) { l.workload(false, false); l.podWas("a", true) },
			}, ""},
		"an outage": {"pods that were ready are not any more, for 30 s, and an ingress leads to them",
			func(l *harness) { l.certificate(old) }, []func(*harness){
				func(l *harness) { l.podWas("a", false) }, func(l *harness) { l.now = l.now.Add(30 * time.Second) },
			}, "NoReadyPods"},
	} {
		t.Run(name, func(t *testing.T) {
			l, pager := newHarness(t), notifytest.New()
			l.object(web, api.DeploymentSpec{Ports: []string{"8000"}}, nil)
			l.object(shop, api.IngressSpec{Host: "shop.org", Service: "web", TLS: &api.IngressTLS{}}, nil)
			l.workload(false, false)
			l.podWas("a", true)
			tc.begins(l)
			object := *l.snapshot().Object(shop).Value
			for i := range len(tc.then) + 1 {
				if i > 0 {
					tc.then[i-1](l)
				}
				status, err := json.Marshal(l.look())
				if err != nil {
					t.Fatal(err)
				}
				pager.Write(object, status)
			}
			want := ""
			if tc.want != "" {
				want = "ingress prod/shop failed: " + tc.want
			}
			got := pager.Send()
			if got != want {
				t.Errorf("people are sent %q, want %q", got, want)
			}
			page.Check(t, tc.row, got)
		})
	}
}
