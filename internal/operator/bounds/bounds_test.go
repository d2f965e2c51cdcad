package bounds_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
)

func namespace(label, allowed string) *metav1.PartialObjectMetadata {
	n := &metav1.PartialObjectMetadata{}
	n.Name = "team"
	if label != "" {
		n.Labels = map[string]string{"managed-by": label}
	}
	if allowed != "" {
		n.Annotations = map[string]string{"ops.vworkspace.io/allowed-types": allowed}
	}
	return n
}

// reason returns a refusal's reason, and checks that its message names what to change.
func reason(t *testing.T, name string, refusal *bounds.RefusalError, mentions string) bounds.Reason {
	t.Helper()
	if refusal == nil {
		return ""
	}
	if !strings.Contains(refusal.Message, mentions) {
		t.Errorf("%s: %q does not mention %q", name, refusal.Message, mentions)
	}
	return refusal.Reason
}

func TestInstance(t *testing.T) {
	const managedBy, clusterID = "app.vworkspace.io/managed-by", "app.vworkspace.io/cluster-id"
	charts := bounds.Policy{Charts: []string{"oci://ghcr.io/team", "https://charts.example.com/"}}
	for name, test := range map[string]struct {
		policy   bounds.Policy
		label    string
		long     string
		labels   map[string]string
		url      string
		chart    string
		want     bounds.Reason
		mentions string
	}{
		"labelled":           {label: "vworkspace"},
		"the long label":     {long: "vworkspace"},
		"another long label": {long: "control-plane", want: bounds.NamespaceNotGated},
		"not labelled": {want: bounds.NamespaceNotGated,
			mentions: "kubectl label namespace team managed-by=vworkspace"},
		"another value":  {label: "helm", want: bounds.NamespaceNotGated},
		"any namespace":  {policy: bounds.Policy{AnyNamespace: true}},
		"this cluster's": {label: "vworkspace", labels: map[string]string{clusterID: "c1"}},
		"another cluster's": {label: "vworkspace", labels: map[string]string{clusterID: "c2"},
			want: bounds.OtherCluster, mentions: "c2"},
		"managed": {label: "vworkspace", policy: bounds.Policy{RequireManagedBy: true},
			labels: map[string]string{managedBy: "control-plane"}},
		"managed by another": {
			label: "vworkspace", policy: bounds.Policy{RequireManagedBy: true},
			labels: map[string]string{managedBy: "odoo"}, want: bounds.NotManaged,
			mentions: managedBy + "=control-plane",
		},
		"not managed": {label: "vworkspace", policy: bounds.Policy{RequireManagedBy: true},
			want: bounds.NotManaged},
		"allowed folder":     {label: "vworkspace", policy: charts, url: "oci://ghcr.io/team/charts"},
		"allowed repository": {label: "vworkspace", policy: charts, url: "https://charts.example.com"},
		"another's similar name": {label: "vworkspace", policy: charts, url: "oci://ghcr.io/teammate",
			want: bounds.ChartNotAllowed, mentions: "oci://ghcr.io/team, "},
		"another host": {label: "vworkspace", policy: charts, url: "https://charts.example.com.evil.org",
			want: bounds.ChartNotAllowed},
		"up again": {label: "vworkspace", policy: charts, url: "oci://ghcr.io/team/../evil",
			want: bounds.ChartNotAllowed},
		"up in other words": {label: "vworkspace", policy: charts, url: "https://charts.example.com/%2e%2E/evil",
			want: bounds.ChartNotAllowed},
		"up by the chart's name": {label: "vworkspace", policy: charts, url: "oci://ghcr.io/team",
			chart: "../evil/web", want: bounds.ChartNotAllowed},
		"the one chart": {label: "vworkspace",
			policy: bounds.Policy{Charts: []string{"oci://ghcr.io/team/web"}}, url: "oci://ghcr.io/team/",
			chart: "web"},
		"another chart beside it": {label: "vworkspace",
			policy: bounds.Policy{Charts: []string{"oci://ghcr.io/team/web"}}, url: "oci://ghcr.io/team",
			chart: "website", want: bounds.ChartNotAllowed},
		"the folder above": {label: "vworkspace", policy: charts, url: "oci://ghcr.io",
			want: bounds.ChartNotAllowed},
		"a placeholder, no chart": {label: "vworkspace", policy: charts},
	} {
		instance := &appsv1alpha1.ApplicationInstance{}
		instance.Labels = test.labels
		if test.url != "" {
			source, _, _ := strings.Cut(strings.Replace(test.url, "https", "helm", 1), ":")
			instance.Spec.Chart = &appsv1alpha1.Chart{
				SourceType: appsv1alpha1.ChartSourceType(source), URL: test.url, Name: cmp.Or(test.chart, "web"),
			}
		}
		of := namespace(test.label, "")
		if test.long != "" {
			of.Labels = map[string]string{"app.vworkspace.io/managed-by": test.long}
		}
		if got := reason(t, name, test.policy.Instance(of, "c1", instance), test.mentions); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestClusterWithoutIdentity: an unregistered cluster doesn't count as another cluster.
func TestClusterWithoutIdentity(t *testing.T) {
	instance := &appsv1alpha1.ApplicationInstance{}
	instance.Labels = map[string]string{"app.vworkspace.io/cluster-id": "c2"}
	if refusal := (bounds.Policy{}).Instance(namespace("vworkspace", ""), "", instance); refusal != nil {
		t.Error(refusal)
	}
}

func TestOperation(t *testing.T) {
	for name, test := range map[string]struct {
		label, allowed string
		want           bounds.Reason
	}{
		"no list":       {label: "vworkspace"},
		"a blank list":  {label: "vworkspace", allowed: " "},
		"listed":        {label: "vworkspace", allowed: "Restore, Backup"},
		"not listed":    {label: "vworkspace", allowed: "Restore,Upgrade", want: bounds.TypeNotAllowed},
		"another case":  {label: "vworkspace", allowed: "backup", want: bounds.TypeNotAllowed},
		"gate is first": {allowed: "Restore", want: bounds.NamespaceNotGated},
	} {
		op := &opsv1alpha1.Operation{}
		op.Spec.Type = opsv1alpha1.TypeBackup
		if got := reason(t, name, (bounds.Policy{}).Operation(namespace(test.label, test.allowed), "c1", op),
			"team"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestAddCharts: --chart-allow refuses an address that would allow nothing, or more than it seems to.
func TestAddCharts(t *testing.T) {
	for given, want := range map[string][]string{
		"oci://ghcr.io/team":                             {"oci://ghcr.io/team"},
		"oci://ghcr.io/team, https://charts.example.com": {"oci://ghcr.io/team", "https://charts.example.com"},
		"":                          nil,
		"oci://ghcr.io/team,":       nil,
		"ghcr.io/team":              nil,
		"http://charts.example.com": nil,
		"https://":                  nil,
		"https://user:password@charts.example.com": nil,
		"https://charts.example.com?a=b":           nil,
	} {
		policy := bounds.Policy{}
		if err := policy.AddCharts(given); (err != nil) != (want == nil) ||
			want != nil && !slices.Equal(policy.Charts, want) {
			t.Errorf("%q: %q, %v, want %q", given, policy.Charts, err, want)
		}
	}
}
