package workload

import (
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// The private key that an ingress names is in no container's environment, and a renewed certificate rolls nothing.
func TestCertificatesReachNoContainer(t *testing.T) {
	for name, bucket := range map[string]string{"the ingress's own bucket": "apps/prod/web/",
		"its scope's": "scopes/prod/"} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			ref := api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "web"}
			ingress := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
				Spec: []byte(`{"host":"a.example","tls":{"certificate":"CRT","key":"KEY"}}`)}
			l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), ingress) })
			l.config(bucket+"CRT", pemOf("CERTIFICATE", "first"))
			l.config(bucket+"KEY", pemOf("PRIVATE KEY", "first"))
			l.config(bucket+"MODE", "1")
			l.apply(replicas(2, "web:1"))
			l.settle()
			if got := string(l.inForce().Env); got != `sealed:{"MODE":"1"}` {
				t.Fatalf("the containers have %s", got)
			}
			l.config(bucket+"CRT", pemOf("CERTIFICATE", "renewed"))
			l.config(bucket+"KEY", pemOf("PRIVATE KEY", "renewed"))
			l.settle()
			if got := l.status().Release; got != "v1" {
				t.Errorf("a renewed certificate made %s", got)
			}
			spec := replicas(2, "web:1")
			spec.SecretFiles = map[string]string{"/run/key": "KEY"} // who asks for it has it
			l.apply(spec)
			l.settle()
			if got := string(l.inForce().Env); !strings.HasPrefix(got, `sealed:{"=/run/key":"-----BEGIN PRIVATE KEY`) ||
				strings.Contains(got, "KEY\":") {
				t.Errorf("with a secret file, the containers have %s", got)
			}
		})
	}
}

// pemOf returns a block of PEM.
func pemOf(what, text string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: what, Bytes: []byte(text)}))
}

// An ingress of a sync that is not trusted withholds nothing from what others declared: the sync may not change that.
// One of a trusted sync, or of a person, does.
func TestAnUntrustedSyncWithholdsFromItsOwnAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		ingress, workload map[string]string
		withheld          bool
	}{
		"untrusted": {map[string]string{api.StampCreator: "sync:a", api.StampConfined: "true"}, nil, false},
		"another sync's": {map[string]string{api.StampCreator: "sync:a", api.StampConfined: "true"},
			map[string]string{api.StampCreator: "sync:b"}, false},
		"untrusted, its own": {map[string]string{api.StampCreator: "sync:a", api.StampConfined: "true"},
			map[string]string{api.StampCreator: "sync:a"}, true},
		"trusted": {map[string]string{api.StampCreator: "sync:a"}, nil, true},
		"a deployer's": {map[string]string{api.StampConfined: "true"},
			map[string]string{api.StampCreator: "sync:a"}, true},
		"a sync's, its stamps": {map[string]string{api.StampApplySet: "sync:a/uid", api.StampConfined: "true"}, nil,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			ref := api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "shop"}
			ingress := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
				Spec: []byte(`{"host":"a.example","tls":{"certificate":"CRT","key":"SIGNING_KEY"}}`)}
			ingress.Metadata.Stamps = tc.ingress
			l.config("scopes/prod/SIGNING_KEY", pemOf("PRIVATE KEY", "tokens"))
			l.apply(replicas(1, "web:1"))
			for key, value := range tc.workload {
				l.stamp(key, value)
			}
			l.settle()
			l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), ingress) })
			l.settle()
			if got := !strings.Contains(string(l.inForce().Env), "SIGNING_KEY"); got != tc.withheld {
				t.Errorf("the key is withheld: %v; the containers have %s", got, l.inForce().Env)
			}
		})
	}
}

// An ingress that begins to name a key concerns the workloads of its scope, and nothing else about an ingress does.
func TestIngressesConcernTheReadersOfTheirKeys(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	object := func(spec string) *api.Object {
		return &api.Object{Kind: api.KindIngress, Scope: "prod", Name: "shop", Spec: []byte(spec)}
	}
	plain, named := object(`{"host":"a.example"}`), object(
		`{"host":"a.example","tls":{"certificate":"CRT","key":"KEY"}}`)
	other := object(`{"host":"b.example","tls":{"certificate":"CRT","key":"KEY"}}`)
	confined := object(`{"host":"a.example","tls":{"certificate":"CRT","key":"KEY"}}`)
	confined.Metadata.Stamps = map[string]string{api.StampCreator: "sync:a", api.StampConfined: "true"}
	key := records.ObjectKey(plain.Ref())
	for name, tc := range map[string]struct {
		change view.Change
		want   bool
	}{
		"names a key":     {view.Change{Key: key, Old: plain, New: named}, true},
		"is new":          {view.Change{Key: key, New: named}, true},
		"is gone":         {view.Change{Key: key, Old: named}, true},
		"names none":      {view.Change{Key: key, New: plain}, false},
		"of a sync":       {view.Change{Key: key, Old: confined, New: named}, true},
		"names the same":  {view.Change{Key: key, Old: named, New: other}, false},
		"of another kind": {view.Change{Key: records.ObjectKey(web), New: l.snapshot().Object(web).Value}, true},
	} {
		got := slices.Contains(l.c.Affected(l.snapshot(), tc.change), control.Key(web))
		if got != tc.want {
			t.Errorf("%s: it concerns the workload: %v", name, got)
		}
	}
}
