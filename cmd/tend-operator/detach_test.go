//go:build kube

package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDetach: detached applications only lose the operator: their HelmReleases have no owner, so that Kubernetes
// doesn't delete them with their instance, and no finalizer keeps an instance or its namespace. Beside a running
// operator it does nothing.
func TestDetach(t *testing.T) {
	const count = 3
	w := newWorld(t)
	binary := buildOperator(t)
	w.create(count, "oci")
	running := w.operate(binary, "first", "--leader-elect")
	w.converge(count)
	if out, err := w.detach(binary); err == nil || !strings.Contains(out, "scale deployment tend-operator --replicas=0") {
		t.Errorf("beside an operator that runs: %v, want a refusal that says what to do: %s", err, out)
	}
	for _, instance := range w.objects(kindInstance) {
		if len(instance.GetFinalizers()) != 1 {
			t.Fatalf("%s has the finalizers %q", instance.GetName(), instance.GetFinalizers())
		}
	}
	other := w.objects(kindRelease)[0]
	other.SetOwnerReferences(append(other.GetOwnerReferences(),
		metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "theirs"}))
	if err := w.user.Update(t.Context(), &other); err != nil {
		t.Fatal(err)
	}
	running.stop()
	if out, err := w.detach(binary); err != nil || strings.Count(out, "the finalizer is removed") != count {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := w.detach(binary); err != nil || out != "" {
		t.Errorf("the second time: %v, %q, want nothing left to do", err, out)
	}
	for _, instance := range w.objects(kindInstance) {
		if err := w.user.Delete(t.Context(), &instance); err != nil {
			t.Error(err)
		}
	}
	if left := w.objects(kindInstance); len(left) > 0 {
		t.Errorf("%d instances are kept by %q", len(left), left[0].GetFinalizers())
	}
	for _, kind := range []schema.GroupVersionKind{kindRelease, kindOCISource} {
		left := w.objects(kind)
		if len(left) != count {
			t.Errorf("%d of %d %ss are left", len(left), count, kind.Kind)
		}
		for _, live := range left {
			want := 0
			if live.GetUID() == other.GetUID() {
				want = 1
			}
			if hash := live.GetAnnotations()["vworkspace.io/applied-intent-hash"]; want == 0 && hash != "" {
				t.Errorf("%s has the hash of what was applied: an operator that comes back would not own it again", live.GetName())
			}
			if owners := live.GetOwnerReferences(); len(owners) != want || live.GetDeletionTimestamp() != nil {
				t.Errorf("%s %s belongs to %+v, want %d owner other than the operator's", kind.Kind, live.GetName(), owners, want)
			}
		}
	}
}

// detach runs the command as a person does.
func (w *world) detach(binary string) (string, error) {
	w.Helper()
	command := exec.CommandContext(w.Context(), binary, "detach", "--namespace", w.namespace)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig("person"))
	out, err := command.CombinedOutput()
	return string(out), err
}

func (w *world) objects(kind schema.GroupVersionKind) []unstructured.Unstructured {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := w.user.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	return list.Items
}
