package instance

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata")

// TestOldObjectsKeepTheirChildren: an instance without newer fields has the same children as ever, down to the hash. A
// difference here would change every application of every cluster when the operator is upgraded.
func TestOldObjectsKeepTheirChildren(t *testing.T) {
	helm := &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceHelm, URL: "https://charts.example.org", Name: "web", Version: "1.2.3"}
	ref := &appsv1alpha1.KeyRef{Name: "web-values", Key: "values.yaml"}
	instances := map[string]func(*appsv1alpha1.ApplicationInstance){
		"oci, inline": func(*appsv1alpha1.ApplicationInstance) {},
		"helm, secretRef": func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec.Chart, i.Spec.Values = helm, &appsv1alpha1.Values{Source: appsv1alpha1.ValuesSecret, SecretRef: ref}
		},
		"helm, configMapRef": func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec.Chart, i.Spec.Values = helm, &appsv1alpha1.Values{Source: appsv1alpha1.ValuesConfigMap, ConfigMapRef: ref}
		},
		"no values": func(i *appsv1alpha1.ApplicationInstance) {
			i.Spec.Values.Inline = &runtime.RawExtension{Raw: []byte(`{}`)}
		},
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(instances)) {
		instance := web()
		instances[name](instance)
		children, err := desired(instance, &Observed{ClusterID: "berlin", Upgrade: &Upgrade{}})
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("# " + name + "\n")
		for _, child := range children {
			text, err := json.MarshalIndent(child.Object, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(text, '\n'))
		}
	}
	const file = "testdata/children.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}
