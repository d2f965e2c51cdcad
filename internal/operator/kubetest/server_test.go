//go:build kube

package kubetest_test

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m,
		kubetest.Tend, kubetest.Flux, kubetest.Velero, kubetest.Argo, kubetest.VolSync, kubetest.Snapshots))
}

// TestAuditCountsWritesByAgent: the audit log has each write of an agent when its call returns. It has no reads, and
// the writes of others are separate.
func TestAuditCountsWritesByAgent(t *testing.T) {
	server := kubetest.Shared()
	namespace := server.Namespace(t)
	one, other := server.Client(t, "agent-one"), server.Client(t, "agent-other")
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := one.Create(t.Context(), made.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := one.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	got := server.Writes(t, func(w kubetest.Write) bool { return w.Namespace == namespace && w.Agent == "agent-one" })
	if len(got) != 1 || got[0].Verb != "create" || got[0].Resource != "configmaps" || got[0].Code != 201 {
		t.Errorf("writes of agent-one in %s: %+v, want one create of a ConfigMap", namespace, got)
	}
}

// TestKindsAreServed creates an object of one kind from each source.
func TestKindsAreServed(t *testing.T) {
	server := kubetest.Shared()
	namespace := server.Namespace(t)
	writer := server.Client(t, "kinds")
	for kind, given := range map[string]struct{ version, spec string }{
		"Backup":                 {"velero.io/v1", `{"storageLocation":"default"}`},
		"Workflow":               {"argoproj.io/v1alpha1", `{"workflowTemplateRef":{"name":"a"}}`},
		"ReplicationSource":      {"volsync.backube/v1alpha1", `{"sourcePVC":"a","restic":{"repository":"b","retain":{"daily":1}}}`},
		"ReplicationDestination": {"volsync.backube/v1alpha1", `{"restic":{"capacity":"1Gi","accessModes":["ReadWriteOnce"]}}`},
		"VolumeSnapshot":         {"snapshot.storage.k8s.io/v1", `{"source":{"persistentVolumeClaimName":"a"}}`},
	} {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"spec":%s}`, given.version, kind, given.spec)); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(namespace)
		object.SetName("a")
		odd := object.DeepCopy()
		odd.Object["spec"].(map[string]any)["any"] = "thing"
		if err := writer.Create(t.Context(), odd, client.FieldValidation("Strict")); err == nil {
			t.Errorf("a %s with a field that the kind does not have was accepted", kind)
		}
		if err := writer.Create(t.Context(), object, client.FieldValidation("Strict")); err != nil {
			t.Errorf("create %s: %v", kind, err)
		}
	}
	flux := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"namespace": namespace, "name": "a"},
		"spec": map[string]any{"interval": "5m"},
	}}
	if err := writer.Create(t.Context(), flux); err == nil {
		t.Error("a HelmRelease without a chart was accepted: these are not Flux's own CRDs")
	}
}
