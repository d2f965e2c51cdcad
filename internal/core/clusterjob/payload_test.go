package clusterjob

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func normal(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return v
}

// TestPayload: what the cluster gets are the fields of its own resources, with the defaults that it requires, and
// nothing of Tend's spec changes.
func TestPayload(t *testing.T) {
	for name, tc := range map[string]struct {
		kind api.Kind
		spec string
		want string
	}{
		"an instance": {api.KindApplicationInstance,
			`{"cluster":"east","appRef":{"catalogId":"nextcloud"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"nextcloud","version":"6.6.2"},"release":{"name":"cloud"},"values":{"source":"inline","inline":{"big":12345678901234567890,"list":[1,null]}}}`,
			`{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","metadata":{"name":"cloud","namespace":"org",
			"labels":{"team":"a","app.vworkspace.io/managed-by":"control-plane","app.vworkspace.io/cluster-id":"east"},"annotations":{"ops.vworkspace.io/backup":"velero","tend.dev/object":"u1.3"}},
			"spec":{"mode":"managed","appRef":{"catalogId":"nextcloud"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"nextcloud","version":"6.6.2"},"release":{"name":"cloud","namespace":"org"},
			"values":{"source":"inline","inline":{"big":12345678901234567890,"list":[1,null]}}}}`},
		"empty values": {api.KindApplicationInstance,
			`{"cluster":"east","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.0"},"release":{"name":"cloud","namespace":"org"},"values":{"source":"inline","inline":{}}}`,
			`{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","metadata":{"name":"cloud","namespace":"org",
			"labels":{"team":"a","app.vworkspace.io/managed-by":"control-plane","app.vworkspace.io/cluster-id":"east"},"annotations":{"ops.vworkspace.io/backup":"velero","tend.dev/object":"u1.3"}},
			"spec":{"mode":"managed","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.0"},"release":{"name":"cloud","namespace":"org"},"values":{"source":"inline","inline":{}}}}`},
		"an operation": {api.KindOperation,
			`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero","parameters":{"ttl":"720h"}}`,
			`{"apiVersion":"ops.vworkspace.io/v1alpha1","kind":"Operation","metadata":{"name":"cloud","namespace":"org",
			"labels":{"team":"a","app.vworkspace.io/managed-by":"control-plane","app.vworkspace.io/cluster-id":"east","app.vworkspace.io/application-instance":"cloud"},"annotations":{"ops.vworkspace.io/backup":"velero","tend.dev/object":"u1.3"}},
			"spec":{"targetRef":{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","name":"cloud"},"type":"Backup","engine":"velero","parameters":{"ttl":"720h"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			object := api.Object{Kind: tc.kind, Scope: "org", Name: "cloud", Spec: []byte(tc.spec),
				Metadata: api.Metadata{UID: "u1", Generation: 3,
					Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"ops.vworkspace.io/backup": "velero"}}}
			got, err := Payload(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normal(t, []byte(tc.want)), normal(t, got)); diff != "" {
				t.Error(diff)
			}
			if string(object.Spec) != tc.spec {
				t.Error("the spec was changed")
			}
			if name == "an instance" && !bytes.Contains(got, []byte("12345678901234567890")) {
				t.Errorf("a large number is not as it was written: %s", got)
			}
		})
	}
}

// TestForcedPayloadAsksFlux: what is sent again by force asks Flux to reconcile, with another value each time; an
// operation does not.
func TestForcedPayloadAsksFlux(t *testing.T) {
	const spec = `{"cluster":"east","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.0"},` +
		`"release":{"name":"cloud"},"values":{"source":"inline","inline":{}}}`
	asked := func(kind api.Kind, spec, nonce string) any {
		object := api.Object{Kind: kind, Scope: "org", Name: "cloud", Spec: []byte(spec),
			Metadata: api.Metadata{UID: "u1", Generation: 3}}
		if nonce != "" {
			object.Metadata.Stamps = map[string]string{api.StampPull: nonce}
		}
		payload, err := Payload(object)
		if err != nil {
			t.Fatal(err)
		}
		annotations := normal(t, payload).(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)
		return annotations["reconcile.fluxcd.io/requestedAt"]
	}
	for nonce, want := range map[string]any{"": nil, "m1": "m1", "m2": "m2"} {
		if got := asked(api.KindApplicationInstance, spec, nonce); got != want {
			t.Errorf("nonce %q: %v is asked for", nonce, got)
		}
	}
	if got := asked(api.KindOperation,
		`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":"velero"}`, "m1"); got != nil {
		t.Errorf("an operation asks for %v", got)
	}
}

// TestAnAnnotationThatReturns: what an object was before is sent again, under a key that its operator has not done. A
// write that changes nothing is not sent, also not after a job of an earlier version of Tend.
func TestAnAnnotationThatReturns(t *testing.T) {
	w := newWorld()
	w.settle(t)
	seen := map[string]bool{w.job.Key: true}
	for i, annotations := range []map[string]string{{"a": "1"}, nil, {"a": "1"}, nil} {
		w.object.Metadata.Annotations = annotations
		w.revision++
		if w.control(t); seen[w.job.Key] {
			t.Errorf("change %d has the key %s, which is done", i, w.job.Key)
		}
		seen[w.job.Key] = true
		w.settle(t)
		if has := strings.Contains(w.payload, `"a":"1"`); has != (annotations != nil) {
			t.Errorf("change %d: the cluster has %s", i, w.payload)
		}
	}
	for _, earlier := range []string{w.job.Key, jobKey(w.object, api.ActionApply)} {
		w.job.Key = earlier
		before := w.job.ID
		w.revision++
		if w.control(t); w.job.ID != before {
			t.Errorf("a write that changes nothing is sent: %s after %s", w.job.Key, earlier)
		}
	}
}
