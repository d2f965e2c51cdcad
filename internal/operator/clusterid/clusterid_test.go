package clusterid_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/clusterid"
)

func TestFrom(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := opsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := func(name string, age time.Duration, spec, status string) *opsv1alpha1.Cluster {
		return &opsv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1_700_000_000, 0).Add(-age))},
			Spec:       opsv1alpha1.ClusterSpec{ClusterID: spec}, Status: opsv1alpha1.ClusterStatus{ClusterID: status},
		}
	}
	tests := map[string]struct {
		reason, fixed string
		clusters      []*opsv1alpha1.Cluster
		want          string
	}{
		"none":       {"a cluster that is not registered has no identity", "", nil, ""},
		"fixed":      {"a setting counts more than any object", "set", []*opsv1alpha1.Cluster{made("a", 0, "spec", "status")}, "set"},
		"registered": {"what the control plane gave", "", []*opsv1alpha1.Cluster{made("a", 0, "", "given")}, "given"},
		"asked":      {"what is asked for, until it is registered", "", []*opsv1alpha1.Cluster{made("a", 0, "asked", "")}, "asked"},
		"several":    {"the oldest", "", []*opsv1alpha1.Cluster{made("a", 0, "young", ""), made("b", time.Hour, "old", "")}, "old"},
		"same age":   {"the first by name", "", []*opsv1alpha1.Cluster{made("b", 0, "second", ""), made("a", 0, "first", "")}, "first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithScheme(scheme)
			for _, c := range test.clusters {
				builder = builder.WithObjects(c)
			}
			if got, err := clusterid.From(test.fixed, builder.Build())(t.Context()); err != nil || got != test.want {
				t.Errorf("%s: %q, %v, want %q", test.reason, got, err, test.want)
			}
		})
	}
}
