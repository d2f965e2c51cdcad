package instance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

func TestDesired(t *testing.T) {
	instance := web()
	children, err := desired(instance, &Observed{ClusterID: "berlin"})
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		want := map[string]string{
			"app.vworkspace.io/managed-by": "control-plane", "app.vworkspace.io/cluster-id": "berlin", "app.vworkspace.io/application-instance": "web",
		}
		if diff := cmp.Diff(want, child.GetLabels()); diff != "" {
			t.Errorf("labels of %s: %s", child.GetKind(), diff)
		}
		if o := metav1.GetControllerOf(child); o == nil || o.UID != "u-1" || o.Kind != "ApplicationInstance" || o.APIVersion != "apps.vworkspace.io/v1alpha1" {
			t.Errorf("%s is controlled by %v", child.GetKind(), o)
		}
	}
	wantSource := map[string]any{
		"interval": "1m0s", "url": "oci://registry.example.org/charts/web", "ref": map[string]any{"tag": "1.2.3_5"},
		"layerSelector": map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"},
	}
	if diff := cmp.Diff(wantSource, children[0].Object["spec"]); diff != "" || children[0].GetKind() != "OCIRepository" ||
		children[0].GetName() != "web-source" {
		t.Errorf("source %s %s: %s", children[0].GetKind(), children[0].GetName(), diff)
	}
	spec := children[1].Object["spec"].(map[string]any)
	if spec["chart"] != nil || spec["targetNamespace"] != "prod" || spec["releaseName"] != "web" {
		t.Errorf("release: %v", spec)
	}
	if diff := cmp.Diff(map[string]any{"kind": "OCIRepository", "name": "web-source"}, spec["chartRef"]); diff != "" {
		t.Error(diff)
	}
	wantValues := map[string]any{"replicas": int64(2), "a": map[string]any{"b": 1.5, "c": []any{int64(1), "x"}}}
	if diff := cmp.Diff(wantValues, spec["values"]); diff != "" {
		t.Error(diff)
	}
}

func TestDesiredOfHelmRepository(t *testing.T) {
	instance := web()
	instance.Spec.Chart = &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceHelm, URL: "https://charts.example.org", Name: "web", Version: "1.2.3"}
	instance.Spec.Values = &appsv1alpha1.Values{
		Source: appsv1alpha1.ValuesSecret, SecretRef: &appsv1alpha1.KeyRef{Name: "s", Key: "values.yaml"},
	}
	children, err := desired(instance, &Observed{Upgrade: &Upgrade{Version: "2.0.0", Values: map[string]any{"image": "new"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"interval": "1m0s", "url": "https://charts.example.org"}, children[0].Object["spec"]); diff != "" {
		t.Error(diff)
	}
	spec := children[1].Object["spec"].(map[string]any)
	wantChart := map[string]any{"spec": map[string]any{
		"chart": "web", "version": "2.0.0", "sourceRef": map[string]any{"kind": "HelmRepository", "name": "web-source"},
	}}
	if diff := cmp.Diff(wantChart, spec["chart"]); diff != "" || spec["chartRef"] != nil {
		t.Error("chart of an upgrade: ", diff)
	}
	wantFrom := []any{map[string]any{"kind": "Secret", "name": "s", "valuesKey": "values.yaml"}}
	if diff := cmp.Diff(wantFrom, spec["valuesFrom"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"image": "new"}, spec["values"]); diff != "" {
		t.Error("values of an upgrade: ", diff)
	}
	if _, labelled := children[0].GetLabels()[identity.LabelClusterID]; labelled {
		t.Error("a cluster without an identity has the label of one")
	}
}

// TestValuesAreReadWhereTheyAre: Flux reads the values of a Secret or ConfigMap there; inline values are in the
// release.
func TestValuesAreReadWhereTheyAre(t *testing.T) {
	ref := &appsv1alpha1.KeyRef{Name: "web-values", Key: "values.yaml"}
	tests := map[string]struct {
		values *appsv1alpha1.Values
		from   any
		inline any
	}{
		"secret": {
			&appsv1alpha1.Values{Source: appsv1alpha1.ValuesSecret, SecretRef: ref},
			[]any{map[string]any{"kind": "Secret", "name": "web-values", "valuesKey": "values.yaml"}}, nil,
		},
		"config map": {
			&appsv1alpha1.Values{Source: appsv1alpha1.ValuesConfigMap, ConfigMapRef: ref},
			[]any{map[string]any{"kind": "ConfigMap", "name": "web-values", "valuesKey": "values.yaml"}}, nil,
		},
		"inline": {
			&appsv1alpha1.Values{Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}},
			nil, map[string]any{"a": "b"},
		},
	}
	for name, tt := range tests {
		instance := web()
		instance.Spec.Values = tt.values
		children, err := desired(instance, &Observed{})
		if err != nil {
			t.Fatal(err)
		}
		spec := children[1].Object["spec"].(map[string]any)
		if diff := cmp.Diff([]any{tt.from, tt.inline}, []any{spec["valuesFrom"], spec["values"]}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestChangedSourceType: the old source is deleted once the release refers to the new one.
func TestChangedSourceType(t *testing.T) {
	instance := web()
	observed := applied(t, instance, nil, nil)
	instance.Spec.Chart = &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceHelm, URL: "https://charts.example.org", Name: "web", Version: "1.2.3"}
	result := Plan(instance, observed, noon)
	if len(result.Apply) != 2 || len(result.Delete) != 0 {
		t.Fatalf("applies %d, deletes %d", len(result.Apply), len(result.Delete))
	}
	for _, child := range result.Apply {
		observed.put(child)
	}
	result = Plan(instance, observed, noon)
	if len(result.Apply) != 0 || len(result.Delete) != 1 || result.Delete[0].GetKind() != "OCIRepository" {
		t.Fatalf("applies %d, deletes %v", len(result.Apply), result.Delete)
	}
}
