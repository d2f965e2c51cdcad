package instance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// everything sets each field that is passed on to Flux.
const everything = `
timeout: 20m
suspend: true
serviceAccountName: deployer
install: {timeout: 30m, remediation: {retries: 3, ignoreTestFailures: true, remediateLastFailure: false}}
upgrade: {timeout: 15m, remediation: {retries: 0, ignoreTestFailures: false, strategy: uninstall}}
test: {enable: true, ignoreFailures: true}
driftDetection:
  mode: enabled
  ignore:
  - paths: [/spec/replicas, ""]
    target: {group: apps, version: v1, kind: Deployment, name: web.*, namespace: prod, labelSelector: app=web, annotationSelector: team=a}
postRenderers:
- kustomize:
    patches: [{patch: "- {op: remove, path: /spec}", target: {kind: Service}}]
    images: [{name: web, newName: mirror/web, newTag: "2", digest: "sha256:00"}]
valuesFrom:
- {kind: Secret, name: first}
- {kind: ConfigMap, name: second, valuesKey: host, targetPath: ingress.host, optional: true}
dependsOn: [{name: db}]
`

func withOptionsOf(t *testing.T, text string) *appsv1alpha1.ApplicationInstance {
	t.Helper()
	instance := web()
	if err := yaml.UnmarshalStrict([]byte(text), &instance.Spec); err != nil {
		t.Fatal(err)
	}
	return instance
}

// TestOptionsArePassedOn: each field arrives in the HelmRelease under its name, and the operator's own fields stay.
func TestOptionsArePassedOn(t *testing.T) {
	instance := withOptionsOf(t, everything)
	instance.Spec.Values = &appsv1alpha1.Values{
		Source: appsv1alpha1.ValuesSecret, SecretRef: &appsv1alpha1.KeyRef{Name: "last", Key: "v"},
	}
	children, err := desired(instance, &Observed{Dependencies: map[string]string{"db": "db-release"}})
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	expected := strings.NewReplacer(
		"retries: 0,", "retries: 0, remediateLastFailure: true,", "upgrade: {", "upgrade: {cleanupOnFail: true, ",
		"dependsOn: [{name: db}]", "dependsOn: [{name: db-release}]", "optional: true}", "optional: true}\n- {kind: Secret, name: last, valuesKey: v}",
	).Replace(everything) + `
interval: 5m0s
rollback: {timeout: 20m, cleanupOnFail: true}
maxHistory: 10
releaseName: web
targetNamespace: prod
chartRef: {kind: OCIRepository, name: web-source}
`
	if err := yaml.Unmarshal([]byte(expected), &want); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(children[1].Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAccessToTheChart: the source has the login, the certificates and the required signature.
func TestAccessToTheChart(t *testing.T) {
	instance := web()
	ref := func(name string) *appsv1alpha1.LocalRef { return &appsv1alpha1.LocalRef{Name: name} }
	instance.Spec.Chart.SecretRef, instance.Spec.Chart.CertSecretRef = ref("login"), ref("tls")
	instance.Spec.Chart.Verify = &appsv1alpha1.Verify{
		MatchOIDCIdentity: []appsv1alpha1.OIDCIdentity{{Issuer: "^i$", Subject: "^s$"}},
	}
	children, err := desired(instance, &Observed{})
	if err != nil {
		t.Fatal(err)
	}
	spec := children[0].Object["spec"].(map[string]any)
	want := []any{
		map[string]any{"name": "login"}, map[string]any{"name": "tls"},
		map[string]any{"provider": "cosign", "matchOIDCIdentity": []any{map[string]any{"issuer": "^i$", "subject": "^s$"}}},
	}
	if diff := cmp.Diff(want, []any{spec["secretRef"], spec["certSecretRef"], spec["verify"]}); diff != "" {
		t.Error(diff)
	}
	instance.Spec.Chart.SourceType, instance.Spec.Chart.Verify = appsv1alpha1.ChartSourceHelm, nil
	if children, err = desired(instance, &Observed{}); err != nil {
		t.Fatal(err)
	}
	spec = children[0].Object["spec"].(map[string]any)
	if diff := cmp.Diff(want[:2], []any{spec["secretRef"], spec["certSecretRef"]}); diff != "" {
		t.Errorf("of a repository with an index: %s", diff)
	}
}

// TestInvalidOptions: faults that the CRD's rules can't see are reported with their place and a correction.
func TestInvalidOptions(t *testing.T) {
	for text, want := range map[string]string{
		`driftDetection: {ignore: [{paths: [/a], target: {kind: "("}}]}`:                                                      "driftDetection.ignore[0].target.kind is not a regular expression",
		`driftDetection: {ignore: [{paths: [/a], target: {labelSelector: "a=="}}, {paths: [/b]}]}`:                            "",
		`driftDetection: {ignore: [{paths: [/a], target: {labelSelector: "a b"}}]}`:                                           "driftDetection.ignore[0].target.labelSelector is not a selector",
		`driftDetection: {ignore: [{paths: [/a], target: {annotationSelector: "a in"}}]}`:                                     "target.annotationSelector is not a selector",
		`postRenderers: [{kustomize: {patches: [{patch: a, target: {name: "["}}]}}]`:                                          "postRenderers[0].kustomize.patches[0].target.name is not a regular expression",
		`chart: {sourceType: oci, url: a, name: a, version: 1.0.0, verify: {matchOIDCIdentity: [{issuer: "(", subject: s}]}}`: "chart.verify.matchOIDCIdentity[0].issuer is not a regular expression",
		everything: "",
	} {
		got := invalid(withOptionsOf(t, text))
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
