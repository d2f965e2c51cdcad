package verbs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func clusterObject(name string) api.Object {
	return api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: name, Spec: json.RawMessage("{}")}
}

func instanceOf(cluster, release string) api.Object {
	return api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud",
		Spec: fmt.Appendf(nil,
			`{"cluster":%q,"appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.0"},"release":{"name":%q},"values":{"source":"inline","inline":{}}}`, cluster, release)}
}

func backup(engine, ttl string) api.Object {
	return api.Object{Kind: api.KindOperation, Scope: "org", Name: "backup",
		Spec: fmt.Appendf(nil,
			`{"cluster":"east","targetRef":{"name":"cloud"},"type":"Backup","engine":%q,"parameters":{"ttl":%q}}`,
			engine, ttl)}
}

// TestFixedFields: what names the resource in a cluster can't be changed, and parameters no more once the operation has
// begun.
func TestFixedFields(t *testing.T) {
	w := newWorld(t)
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), backup("velero", "1h"))
	for name, object := range map[string]api.Object{
		"cluster": instanceOf("west", "cloud"), "release.name": instanceOf("east", "other"),
		"engine": backup("volsync", "1h"),
	} {
		_, err := w.apply(ApplyOptions{}, object)
		if refused := wantReason(t, err, Invalid); len(refused.Errors) != 1 || refused.Errors[0].Field != name {
			t.Errorf("%s: %v", name, refused.Errors)
		}
	}
	placeholder := api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud",
		Spec: json.RawMessage(`{"cluster":"east","appRef":{"catalogId":"x"},"mode":"placeholder"}`)}
	_, err := w.apply(ApplyOptions{}, placeholder)
	wantReason(t, err, Invalid)
	w.mustApply(backup("velero", "2h"))
	w.put(records.StatusKey(backup("", "").Ref()), api.DeliveredStatus{Phase: api.OperationRunning})
	_, err = w.apply(ApplyOptions{}, backup("velero", "3h"))
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Error(),
		"parameters: can't be changed, because the operation is Running") {
		t.Error(refused)
	}
	w.mustApply(backup("velero", "2h"))
}

// TestOrphans: a cluster is kept while objects name it, and an object waits for it, unless what is there is to be left.
func TestOrphans(t *testing.T) {
	w := newWorld(t)
	w.mustApply(clusterObject("east"), clusterObject("west"), instanceOf("east", "cloud"), backup("velero", "1h"),
		deployment("prod", "web", `{"image":"web:1"}`))
	remove := func(object api.Object, orphan bool) (api.DeleteResult, error) {
		return w.service.DeleteWith(t.Context(), TargetOf(object.Ref()), DeleteOptions{Orphan: orphan})
	}
	_, err := remove(clusterObject("east"), false)
	if refused := wantReason(t, err, InUse); !strings.Contains(refused.Error(), "2 objects") ||
		!strings.Contains(refused.Next, "--orphan") {
		t.Error(refused, refused.Next)
	}
	_, err = remove(deployment("prod", "web", "{}"), true)
	wantReason(t, err, Invalid)
	if _, err := remove(clusterObject("west"), false); err != nil || w.object(clusterObject("west").Ref()) != nil {
		t.Errorf("a cluster that nothing names: %v", err)
	}
	orphan := func(object api.Object) (deleting, orphaned bool) {
		stored := w.object(object.Ref())
		return stored.Metadata.Deleting(), stored.Metadata.Stamps[api.StampOrphan] != ""
	}
	if _, err := remove(instanceOf("", ""), false); err != nil {
		t.Fatal(err)
	}
	if deleting, orphaned := orphan(instanceOf("", "")); !deleting || orphaned {
		t.Errorf("deleting %v, orphaned %v", deleting, orphaned)
	}
	result, err := remove(instanceOf("", ""), true) // while it waits
	if err != nil || !result.Already {
		t.Errorf("%+v, %v", result, err)
	}
	if deleting, orphaned := orphan(instanceOf("", "")); !deleting || !orphaned {
		t.Errorf("deleting %v, orphaned %v", deleting, orphaned)
	}
	result, err = remove(clusterObject("east"), true)
	if err != nil || len(result.Pruned) != 2 || w.object(clusterObject("east").Ref()) != nil {
		t.Errorf("%+v, %v", result, err)
	}
	if deleting, orphaned := orphan(backup("", "")); !deleting || !orphaned {
		t.Errorf("of a cluster that is gone: deleting %v, orphaned %v", deleting, orphaned)
	}
}

// TestReconcile: a nonce, and no new generation; anything but an application in a cluster is refused with the next
// step.
func TestReconcile(t *testing.T) {
	w := newWorld(t)
	w.mustApply(clusterObject("east"), instanceOf("east", "cloud"), deployment("prod", "web", `{"image":"web:1"}`))
	ref := instanceOf("", "").Ref()
	result, err := w.ask("reconcile", TargetOf(ref), "")
	if err != nil || !result.Changed || w.object(ref).Metadata.Stamps[api.StampPull] == "" ||
		w.object(ref).Metadata.Generation != 1 {
		t.Errorf("%+v, %v: %+v", result, err, w.object(ref).Metadata)
	}
	_, err = w.ask("reconcile", Target{Name: "web"}, "")
	if refused := wantReason(t, err, Invalid); !strings.Contains(refused.Next, "tend restart") {
		t.Error(refused.Next)
	}
}
