package workload

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// The private key that an ingress names is in no container's environment, and a renewed certificate rolls nothing.
func TestCertificatesReachNoContainer(t *testing.T) {
	for name, bucket := range map[string]string{"the ingress's own bucket": "apps/prod/web/", "its scope's": "scopes/prod/"} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			ref := api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "web"}
			ingress := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: []byte(`{"host":"a.example","tls":{"certificate":"CRT","key":"KEY"}}`)}
			l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), ingress) })
			l.config(bucket+"CRT", "chain")
			l.config(bucket+"KEY", "private")
			l.config(bucket+"MODE", "1")
			l.apply(replicas(2, "web:1"))
			l.settle()
			if got := string(l.inForce().Env); got != `sealed:{"MODE":"1"}` {
				t.Fatalf("the containers have %s", got)
			}
			l.config(bucket+"CRT", "renewed")
			l.config(bucket+"KEY", "renewed")
			l.settle()
			if got := l.status().Release; got != "v1" {
				t.Errorf("a renewed certificate made %s", got)
			}
			spec := replicas(2, "web:1")
			spec.SecretFiles = map[string]string{"/run/key": "KEY"} // who asks for it has it
			l.apply(spec)
			l.settle()
			if got := string(l.inForce().Env); got != `sealed:{"=/run/key":"renewed","MODE":"1"}` {
				t.Errorf("with a secret file, the containers have %s", got)
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
	plain, named := object(`{"host":"a.example"}`), object(`{"host":"a.example","tls":{"certificate":"CRT","key":"KEY"}}`)
	other := object(`{"host":"b.example","tls":{"certificate":"CRT","key":"KEY"}}`)
	key := records.ObjectKey(plain.Ref())
	for name, tc := range map[string]struct {
		change view.Change
		want   bool
	}{
		"names a key":     {view.Change{Key: key, Old: plain, New: named}, true},
		"is new":          {view.Change{Key: key, New: named}, true},
		"is gone":         {view.Change{Key: key, Old: named}, true},
		"names none":      {view.Change{Key: key, New: plain}, false},
		"names the same":  {view.Change{Key: key, Old: named, New: other}, false},
		"of another kind": {view.Change{Key: records.ObjectKey(web), New: l.snapshot().Object(web).Value}, true},
	} {
		got := slices.Contains(l.c.Affected(l.snapshot(), tc.change), control.Key(web))
		if got != tc.want {
			t.Errorf("%s: it concerns the workload: %v", name, got)
		}
	}
}
