package downstream_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/downstream"
)

func TestToOwner(t *testing.T) {
	const label = "app.example.org/owner"
	owner := func(version, kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name}}
	}
	tests := map[string]struct {
		reason string
		owners []metav1.OwnerReference
		label  string
		want   []string
	}{
		"owner":       {"by owner reference", owner("apps.example.org/v1", "App", "a"), "", []string{"prod/a"}},
		"other group": {"a kind of that name in another group is another kind", owner("v1", "App", "a"), "", nil},
		"other kind":  {"another kind", owner("apps.example.org/v1", "Other", "a"), "", nil},
		"newer":       {"any version of the kind", owner("apps.example.org/v2", "App", "a"), "", []string{"prod/a"}},
		"label":       {"by label alone", nil, "a", []string{"prod/a"}},
		"both":        {"one request", owner("apps.example.org/v1", "App", "a"), "a", []string{"prod/a"}},
		"neither":     {"nobody's", nil, "", nil},
		"bad version": {"not a group and version", owner("a/b/c", "App", "a"), "", nil},
	}
	toOwner := downstream.ToOwner(schema.GroupKind{Group: "apps.example.org", Kind: "App"}, label)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "x", OwnerReferences: test.owners}}
			if test.label != "" {
				object.Labels = map[string]string{label: test.label}
			}
			var got []string
			for _, request := range toOwner(t.Context(), object) {
				got = append(got, fmt.Sprint(request))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}
