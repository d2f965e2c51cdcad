package engine

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
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

// TestTranscripts shows what each engine creates, and what progress it derives from a status. Run it with -rewrite to
// record what it does now, and read the difference.
//
//	object TYPE ENGINE [velero=NAMESPACE] [driver=DRIVER] [name=NAME] [release=none]
//	  the input is the parameters in JSON
//	observe TYPE ENGINE [oci]
//	  the input is the object in YAML; parameters may follow ---
//
// Every object belongs to the operation prod/nightly on the target web.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
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
	req.Release = &Release{Name: "web", Chart: "web", ChartVersion: "1.0.0", Hooks: hooks}
	for _, arg := range d.CmdArgs[2:] {
		switch arg.Key {
		case "velero":
			req.VeleroNamespace = arg.Vals[0]
		case "driver":
			req.SnapshotDriver = arg.Vals[0]
		case "name":
			req.Operation.Name = arg.Vals[0]
		case "release":
			req.Release = nil
		}
	}
	made := For(req.Operation.Spec.Engine)
	object, err := made.Object(req)
	if err != nil {
		var refusal *RefusalError
		if !errors.As(err, &refusal) {
			d.Fatalf(t, "%v is not a refusal", err)
		}
		return fmt.Sprintf("refused, %s: %v\n", refusal.Reason, err)
	}
	if object == nil {
		return "nothing\n"
	}
	subject, err := made.Subject(req)
	if err != nil || subject.Name != object.GetName() || subject.Namespace != object.GetNamespace() ||
		subject.GroupVersionKind != object.GroupVersionKind() || !subject.Owned {
		d.Fatalf(t, "the subject %v (%v) is not the object", subject, err)
	}
	if !slices.Contains(Kinds(), object.GroupVersionKind()) {
		d.Fatalf(t, "no change of a %s is seen: Kinds doesn't have it", object.GetKind())
	}
	if again, _ := made.Object(req); !slices.Equal(asYAML(t, again), asYAML(t, object)) {
		d.Fatalf(t, "a repeated call makes another object")
	}
	object.DeepCopy() // panics if a value isn't a JSON value
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
	if p.Failing != "" {
		out += "  failing " + p.Failing + "\n"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Outputs)) {
		out += fmt.Sprintf("  %s=%s\n", name, p.Outputs[name])
	}
	return out
}

// hooks are those of a chart with a Job of its own name, two Jobs of one event, and a hook that isn't a Job.
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
