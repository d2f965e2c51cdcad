//go:build kube

package operator_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

const namespace = "vworkspace-system"

// The two ways to install, as paths for tools/kuberender.
const (
	base  = "../../deploy/operator"
	chart = "../../deploy/operator/chart"
)

// everything sets each value of the chart that changes the rendered objects.
const everything = `
image: {repository: registry.example.org/tend-operator, tag: v1, pullPolicy: Always}
imagePullSecrets: [{name: pull}]
replicas: 2
clusterID: berlin
veleroNamespace: velero
cluster: {name: berlin, endpoint: "https://tend.example.org:7700"}
agent: {enabled: false, pollInterval: 1m, credentialsSecret: credentials}
approvalClaimSecret: {name: approvals}
runner: {namespaces: [elsewhere]}
metrics: {port: 9090}
nodeSelector: {disk: ssd}
tolerations: [{key: a, operator: Exists, effect: NoSchedule}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
podAnnotations: {a: b}
namespaceGate: false
requireManagedBy: true
chartAllow: [oci://ghcr.io/team, https://charts.example.org]
webhooks: {enabled: true}
logs: {enabled: true}
health: {enabled: true}
extraArgs: [--metrics-bind-address=0]
`

// TestInstallations applies the objects that Kustomize and Helm render to an empty API server, which must know each
// field.
func TestInstallations(t *testing.T) {
	server, err := kubetest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	kustomized := render(t, "", "kustomize", base)
	install(t, server, kustomized)
	admitsPods(t, server, kustomized)
	plain := render(t, "", "helm", chart, namespace)
	if diff := cmp.Diff(byName(kustomized, "Namespace"), byName(plain)); diff != "" {
		t.Errorf("the chart (+) is not the base (-):\n%s", diff)
	}
	kustomized = render(t, "", "kustomize", base+"-webhooks")
	install(t, server, kustomized)
	plain = render(t, "webhooks: {enabled: true}", "helm", chart, namespace)
	if diff := cmp.Diff(byName(kustomized, "Namespace"), byName(plain)); diff != "" {
		t.Errorf("with webhooks, the chart (+) is not the base (-):\n%s", diff)
	}
	kustomized = render(t, "", "kustomize", base+"-logs")
	install(t, server, kustomized)
	if diff := cmp.Diff(byName(kustomized, "Namespace"), byName(render(t, "logs: {enabled: true}", "helm", chart, namespace))); diff != "" {
		t.Errorf("with logs, the chart (+) is not the base (-):\n%s", diff)
	}
	kustomized = render(t, "", "kustomize", base+"-health")
	install(t, server, kustomized)
	if diff := cmp.Diff(byName(kustomized, "Namespace"), byName(render(t, "health: {enabled: true}", "helm", chart, namespace))); diff != "" {
		t.Errorf("with health, the chart (+) is not the base (-):\n%s", diff)
	}
	admin := server.Client(t, "user")
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}); err != nil {
		t.Fatal(err)
	}
	other := render(t, everything, "helm", chart, "elsewhere")
	install(t, server, other)
	runner := &corev1.ServiceAccount{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "elsewhere", Name: "vworkspace-operation-runner"}, runner); err != nil {
		t.Errorf("the account of operations: %v", err)
	}
	for _, objects := range [][]*unstructured.Unstructured{kustomized, plain, other} {
		knowsFlags(t, objects)
	}
}

// TestChartRefusesUnknownValues: a misspelt value is refused, not ignored.
func TestChartRefusesUnknownValues(t *testing.T) {
	for values, want := range map[string]string{"replica: 2": "replica", "cluster: {endpoint: 'https://tend.example.org'}": "tend clusters add"} {
		_, err := run(values, "helm", chart, namespace)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a refusal that says %q", values, err, want)
		}
	}
}

// run runs tools/kuberender in its folder.
func run(values string, args ...string) ([]byte, error) {
	command := exec.Command("go", append([]string{"run", "-C", "../../tools/kuberender", "."}, args...)...)
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(values), &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kuberender: %w\n%s", err, stderr.Bytes())
	}
	return out, nil
}

func render(t *testing.T, values string, args ...string) (objects []*unstructured.Unstructured) {
	t.Helper()
	out, err := run(values, args...)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		if object.Object != nil {
			objects = append(objects, object)
		}
	}
	if len(objects) < 9 {
		t.Fatalf("%v: %d objects", args, len(objects))
	}
	return objects
}

// install applies objects in the order of their dependencies. The server refuses fields that it doesn't know.
func install(t *testing.T, server *kubetest.Server, objects []*unstructured.Unstructured) {
	t.Helper()
	strict := client.WithFieldValidation(server.Client(t, "install"), metav1.FieldValidationStrict)
	apply := func(first bool) {
		for _, object := range objects {
			if slices.Contains([]string{"Namespace", "CustomResourceDefinition"}, object.GetKind()) != first {
				continue
			}
			text, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			err = strict.Patch(
				t.Context(), object.DeepCopy(), client.RawPatch(types.ApplyPatchType, text), client.ForceOwnership,
			)
			if err != nil {
				t.Errorf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
	}
	apply(true)
	if err := server.Install(t.Context(), kubetest.Tend); err != nil { // waits until the kinds are served
		t.Fatal(err)
	}
	apply(false)
}

// admitsPods checks that the Deployment's pod is admitted to its restricted namespace.
func admitsPods(t *testing.T, server *kubetest.Server, objects []*unstructured.Unstructured) {
	t.Helper()
	template := podOf(t, objects)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator", Labels: template.Labels}, Spec: template.Spec,
	}
	if err := server.Client(t, "replicaset-controller").Create(t.Context(), pod); err != nil {
		t.Errorf("the pod is refused: %v", err)
	}
}

// knowsFlags checks that the operator accepts the Deployment's arguments.
func knowsFlags(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	args := podOf(t, objects).Spec.Containers[0].Args
	command := exec.Command("go", append(append([]string{"run", "../../cmd/tend-operator"}, args...), "--version")...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("tend-operator %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func podOf(t *testing.T, objects []*unstructured.Unstructured) *corev1.PodTemplateSpec {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		values, _, err := unstructured.NestedMap(object.Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		template := &corev1.PodTemplateSpec{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(values, template); err != nil {
			t.Fatal(err)
		}
		return template
	}
	t.Fatal("there is no Deployment")
	return nil
}

// byName returns objects by kind and name, except those of some kinds. Helm doesn't label a chart's CRDs.
func byName(objects []*unstructured.Unstructured, without ...string) map[string]any {
	all := map[string]any{}
	for _, object := range objects {
		if slices.Contains(without, object.GetKind()) {
			continue
		}
		object = object.DeepCopy()
		if object.GetKind() == "CustomResourceDefinition" {
			object.SetLabels(nil)
		}
		all[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return all
}
