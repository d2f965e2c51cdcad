package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// TestTranscripts shows what each engine creates, and what it makes of a status. Run with -rewrite to write what it does
// now, and read the difference.
//
//	object TYPE ENGINE [velero=NAMESPACE] [name=NAME] [release=none]   the input is the parameters in JSON
//	observe TYPE ENGINE [oci]                                          the input is the object in YAML; parameters may follow ---
//
// Every object is a thing of the operation prod/nightly on the target web.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "object":
				return objectOf(t, d)
			case "observe":
				return progressOf(t, d)
			}
			d.Fatalf(t, "no command %s", d.Cmd)
			return ""
		})
	})
}

func request(d *datadriven.TestData, parameters string) Request {
	req := Request{
		Operation: &opsv1alpha1.Operation{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly", UID: "0b6c9e0a-1111-2222-3333-444444444444"},
			Spec: opsv1alpha1.OperationSpec{
				TargetRef: opsv1alpha1.TargetRef{Name: "web"},
				Type:      opsv1alpha1.OperationType(d.CmdArgs[0].Key), Engine: opsv1alpha1.Engine(d.CmdArgs[1].Key),
			},
		},
		Target: &appsv1alpha1.ApplicationInstance{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"},
			Spec: appsv1alpha1.ApplicationInstanceSpec{
				Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceHelm, Version: "1.0.0"},
				Release: &appsv1alpha1.Release{Name: "web", Namespace: "prod"},
			},
		},
		ClusterID: "c-1",
	}
	if parameters != "" {
		req.Operation.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
	}
	return req
}

func objectOf(t *testing.T, d *datadriven.TestData) string {
	req := request(d, d.Input)
	req.Hooks = hooks
	for _, arg := range d.CmdArgs[2:] {
		switch arg.Key {
		case "velero":
			req.VeleroNamespace = arg.Vals[0]
		case "name":
			req.Operation.Name = arg.Vals[0]
		case "release":
			req.Hooks = nil
		}
	}
	made := For(req.Operation.Spec.Engine)
	object, err := made.Object(req)
	if err != nil {
		var refusal *RefusalError
		if !errors.As(err, &refusal) {
			d.Fatalf(t, "%v is no refusal", err)
		}
		return fmt.Sprintf("refused, %s: %v\n", refusal.Reason, err)
	}
	if object == nil {
		return "nothing\n"
	}
	subject, err := made.Subject(req)
	if err != nil || subject.Name != object.GetName() || subject.Namespace != object.GetNamespace() || subject.GroupVersionKind != object.GroupVersionKind() || !subject.Owned {
		d.Fatalf(t, "the subject %v (%v) is not the object", subject, err)
	}
	if again, _ := made.Object(req); !slices.Equal(asYAML(t, again), asYAML(t, object)) {
		d.Fatalf(t, "a repeated call makes another object")
	}
	object.DeepCopy() // panics if it has a value that is not one of JSON's
	return string(asYAML(t, object))
}

func asYAML(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	out, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func progressOf(t *testing.T, d *datadriven.TestData) string {
	status, parameters, _ := strings.Cut(d.Input, "\n---\n")
	req := request(d, parameters)
	if d.HasArg("oci") {
		req.Target.Spec.Chart.SourceType = appsv1alpha1.ChartSourceOCI
	}
	subject, err := For(req.Operation.Spec.Engine).Subject(req)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(status), &values); err != nil {
		d.Fatalf(t, "%v", err)
	}
	values = integers(values).(map[string]any)
	observed := &unstructured.Unstructured{Object: values}
	observed.SetGroupVersionKind(subject.GroupVersionKind)
	observed.SetName(subject.Name)
	observed.SetNamespace(subject.Namespace)
	observed.SetUID(types.UID("uid-of-the-object"))
	p := For(req.Operation.Spec.Engine).Observe(req, observed)
	out := fmt.Sprintf("%s %s: %s\n", p.State, p.Reason, p.Message)
	for _, name := range slices.Sorted(maps.Keys(p.Outputs)) {
		out += fmt.Sprintf("  %s=%s\n", name, p.Outputs[name])
	}
	return out
}

// hooks are those of a chart that has a Job of its own name, two Jobs of one event, and something that is no Job.
var hooks = []Hook{
	{Name: "web-migrate", Kind: "Job", Events: []string{"post-upgrade"}, Manifest: `
apiVersion: batch/v1
kind: Job
metadata:
  name: web-migrate
  annotations: {"helm.sh/hook": post-upgrade, "helm.sh/hook-delete-policy": before-hook-creation}
spec:
  backoffLimit: 1
  selector: {matchLabels: {old: "yes"}}
  template:
    metadata: {labels: {app: web}, annotations: {note: kept}}
    spec:
      restartPolicy: OnFailure
      serviceAccountName: web
      containers:
      - name: migrate
        image: web:1.0.0
        command: [migrate, up]
        env: [{name: LEVEL, value: "3"}]
        volumeMounts: [{name: data, mountPath: /data}]
        ports: [{containerPort: 8080}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: web}}]
`},
	{Name: "web-check-a", Kind: "Job", Events: []string{"test"}, Manifest: "kind: Job\nspec: {template: {spec: {}}}"},
	{Name: "web-check-b", Kind: "Job", Events: []string{"test"}, Manifest: "kind: Job\nspec: {template: {spec: {}}}"},
	{Name: "web-config", Kind: "ConfigMap", Events: []string{"pre-install"}},
	{Name: "web-empty", Kind: "Job", Events: []string{"pre-delete"}, Manifest: "kind: Job"},
}

// TestHooksAreReadAsHelmWritesThem reads a release that is packed as Helm's storage driver does it.
func TestHooksAreReadAsHelmWritesThem(t *testing.T) {
	release := map[string]any{"name": "web", "version": 3, "hooks": []any{map[string]any{
		"name": "web-migrate", "kind": "Job", "path": "web/templates/migrate.yaml", "manifest": "kind: Job",
		"events": []string{"pre-upgrade", "post-upgrade"}, "weight": 0, "delete_policies": []string{"before-hook-creation"},
	}}}
	plain, err := json.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason string
		data   string
		want   int
		fails  bool
	}{
		"packed":  {"what Helm writes", base64.StdEncoding.EncodeToString(packed.Bytes()), 1, false},
		"plain":   {"what the oldest Helm wrote", base64.StdEncoding.EncodeToString(plain), 1, false},
		"none":    {"a chart without hooks has none, which is not the same as no release", base64.StdEncoding.EncodeToString([]byte(`{"name":"web"}`)), 0, false},
		"cut":     {"a release that is cut off", base64.StdEncoding.EncodeToString(packed.Bytes()[:20]), 0, true},
		"no JSON": {"something else", base64.StdEncoding.EncodeToString([]byte("x")), 0, true},
		"no text": {"no base64", "~~~", 0, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Hooks([]byte(test.data))
			if (err != nil) != test.fails || len(got) != test.want || !test.fails && got == nil {
				t.Fatalf("%s: got %v, %v", test.reason, got, err)
			}
			if test.want == 1 && (got[0].Name != "web-migrate" || got[0].Kind != "Job" || !slices.Contains(got[0].Events, "post-upgrade")) {
				t.Errorf("%s: got %+v", test.reason, got[0])
			}
		})
	}
}

// TestReleaseSecretIsNamedByFlux takes the newest revision of the history, in whatever order it is, and where Flux says
// that it is stored.
func TestReleaseSecretIsNamedByFlux(t *testing.T) {
	helmRelease := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"storageNamespace": "flux",
		"history": []any{
			map[string]any{"name": "prod-web", "version": int64(2), "chartVersion": "1.1.0"},
			map[string]any{"name": "prod-web", "version": int64(3), "chartVersion": "1.2.0"},
			map[string]any{"name": "prod-web", "version": int64(1), "chartVersion": "1.0.0"},
		},
	}}}
	helmRelease.SetNamespace("prod")
	if namespace, name := ReleaseSecret(helmRelease); namespace != "flux" || name != "sh.helm.release.v1.prod-web.v3" {
		t.Errorf("got %s/%s", namespace, name)
	}
	unstructured.RemoveNestedField(helmRelease.Object, "status", "storageNamespace")
	if namespace, _ := ReleaseSecret(helmRelease); namespace != "prod" {
		t.Errorf("got the namespace %s, want the HelmRelease's", namespace)
	}
	unstructured.RemoveNestedField(helmRelease.Object, "status", "history")
	if _, name := ReleaseSecret(helmRelease); name != "" {
		t.Errorf("got %s, and nothing is installed", name)
	}
}
