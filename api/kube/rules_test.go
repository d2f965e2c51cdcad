//go:build kube

package kube_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/internal/operator/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m, kubetest.Tend)) }

const (
	helm = `"chart":{"sourceType":"helm","url":"https://charts.example.org","name":"web","version":"1.2.3"},` +
		`"release":{"name":"web","namespace":"NS"},`
	inline    = `"values":{"source":"inline","inline":{"a":{"b":[1,"x"]}}}`
	reference = `"appRef":{"catalogId":"web"},`
)

// rule is a test case: a spec that must be refused with a message that contains want, or accepted if want is empty. If
// after is set, spec must be accepted, and after is judged as an update.
type rule struct {
	reason, spec, after, want string
}

func TestApplicationInstanceRules(t *testing.T) {
	chart := func(fields string) string {
		return `{` + reference + `"chart":{` + fields + `},"release":{"name":"web","namespace":"NS"},` + inline + `}`
	}
	ingress := func(fields string) string {
		return `{` + reference + helm + inline + `,"integrations":{"ingress":{` + fields + `}}}`
	}
	values := func(fields string) string { return `{` + reference + helm + `"values":{` + fields + `}}` }
	judge(t, "apps.vworkspace.io/v1alpha1", "ApplicationInstance", map[string]rule{
		"managed":     {"the usual case", `{` + reference + helm + inline + `}`, "", ""},
		"placeholder": {"has nothing to install", `{` + reference + `"mode":"placeholder"}`, "", ""},
		"oci": {"an OCI chart has an oci:// address",
			chart(`"sourceType":"oci","url":"oci://registry.example.org/charts","name":"web","version":"1.2.3-rc.1+build.5"`), "", ""},
		"blank-catalog":         {"a catalog id is not blank", `{"appRef":{"catalogId":"  "},` + helm + inline + `}`, "", "catalogId"},
		"no-chart":              {"managed needs a chart", `{` + reference + `"release":{"name":"web","namespace":"NS"},` + inline + `}`, "", "chart is required"},
		"no-values":             {"managed needs values", `{` + reference + strings.TrimSuffix(helm, ",") + `}`, "", "values is required"},
		"charted-holder":        {"a placeholder has no chart", `{` + reference + helm + `"mode":"placeholder"}`, "", "a placeholder has no chart"},
		"unknown-mode":          {"modes are an enum", `{` + reference + helm + inline + `,"mode":"other"}`, "", "mode"},
		"oci-https":             {"oci needs oci://", chart(`"sourceType":"oci","url":"https://a.example","name":"web","version":"1.2.3"`), "", "must begin with oci://"},
		"helm-oci":              {"helm needs https://", chart(`"sourceType":"helm","url":"oci://a.example","name":"web","version":"1.2.3"`), "", "must begin with https://"},
		"range":                 {"what is installed would change by itself", chart(`"sourceType":"helm","url":"https://a","name":"web","version":"^1.2.0"`), "", "version"},
		"latest":                {"as above", chart(`"sourceType":"helm","url":"https://a","name":"web","version":"latest"`), "", "version"},
		"two-sources":           {"values come from one place", values(`"source":"inline","inline":{},"secretRef":{"name":"a","key":"b"}`), "", "secretRef is given if"},
		"wrong-source":          {"the source names the place", values(`"source":"secretRef","inline":{}`), "", "secretRef is given if"},
		"secret":                {"values from a Secret", values(`"source":"secretRef","secretRef":{"name":"a","key":"values.yaml"}`), "", ""},
		"config-map":            {"values from a ConfigMap", values(`"source":"configMapRef","configMapRef":{"name":"a","key":"b"}`), "", ""},
		"no-host":               {"an ingress has a host", ingress(`"enabled":true`), "", "host is required"},
		"host":                  {"an ingress with its host", ingress(`"enabled":true,"host":"a.example.org"`), "", ""},
		"disabled":              {"a disabled ingress needs no host", ingress(`"enabled":false`), "", ""},
		"renamed-release":       {"a release keeps its name", `{` + reference + helm + inline + `}`, strings.Replace(`{`+reference+helm+inline+`}`, `"name":"web","namespace"`, `"name":"other","namespace"`, 1), "release.name can't be changed"},
		"demoted":               {"an installed application is deleted, not forgotten", `{` + reference + helm + inline + `}`, `{` + reference + `"mode":"placeholder"}`, "can't become a placeholder"},
		"promoted":              {"a placeholder may become an application", `{` + reference + `"mode":"placeholder"}`, `{` + reference + helm + inline + `}`, ""},
		"upgraded":              {"another version", `{` + reference + helm + inline + `}`, strings.Replace(`{`+reference+helm+inline+`}`, "1.2.3", "1.3.0", 1), ""},
		strings.Repeat("n", 64): {"a name is a label's value", `{` + reference + helm + inline + `}`, "", "more than 63 characters"},
	})
}

// TestReleaseOptionRules: options for Flux are checked when the instance is written.
func TestReleaseOptionRules(t *testing.T) {
	with := func(more string) string { return `{` + reference + helm + inline + `,` + more + `}` }
	oci := func(more string) string {
		return `{` + reference + `"chart":{"sourceType":"oci","url":"oci://r.example.org/c","name":"web","version":"1.2.3",` + more +
			`},"release":{"name":"web","namespace":"NS"},` + inline + `}`
	}
	judge(t, "apps.vworkspace.io/v1alpha1", "ApplicationInstance", map[string]rule{
		"all": {"every field", with(`"timeout":"1h30m","suspend":true,"serviceAccountName":"deployer",
			"install":{"timeout":"20m","remediation":{"retries":3,"ignoreTestFailures":true,"remediateLastFailure":true}},
			"upgrade":{"timeout":"20m","remediation":{"retries":-1,"ignoreTestFailures":false,"remediateLastFailure":false,"strategy":"uninstall"}},
			"test":{"enable":true,"ignoreFailures":true},
			"driftDetection":{"mode":"warn","ignore":[{"paths":["/spec/replicas",""],"target":{"kind":"Deployment","labelSelector":"a=b"}}]},
			"postRenderers":[{"kustomize":{"patches":[{"patch":"a: b","target":{"kind":"Service"}}],"images":[{"name":"a","newTag":"1"}]}}],
			"valuesFrom":[{"kind":"Secret","name":"a","valuesKey":"k","targetPath":"db.password","optional":true},{"kind":"ConfigMap","name":"b"}],
			"dependsOn":[{"name":"db"}]`), "", ""},
		"private":       {"a private registry", oci(`"secretRef":{"name":"a"},"certSecretRef":{"name":"b"},"verify":{"secretRef":{"name":"c"}}`), "", ""},
		"keyless":       {"signed without a key", oci(`"verify":{"provider":"cosign","matchOIDCIdentity":[{"issuer":"^i$","subject":"^s$"}]}`), "", ""},
		"anybody":       {"a signature is somebody's", oci(`"verify":{"provider":"cosign"}`), "", "anybody's signature would do"},
		"both":          {"a key, or an identity", oci(`"verify":{"secretRef":{"name":"a"},"matchOIDCIdentity":[{"issuer":"i","subject":"s"}]}`), "", "not both"},
		"notation":      {"notation has keys", oci(`"verify":{"provider":"notation","matchOIDCIdentity":[{"issuer":"i","subject":"s"}]}`), "", "secretRef is required: provider is notation"},
		"other":         {"providers are an enum", oci(`"verify":{"provider":"gpg","secretRef":{"name":"a"}}`), "", "provider"},
		"helm-verify":   {"Flux can't verify charts of an indexed repository", strings.Replace(with(`"test":{}`), `"version":"1.2.3"`, `"version":"1.2.3","verify":{"secretRef":{"name":"a"}}`, 1), "", "verify is for charts of an OCI registry"},
		"nameless":      {"a reference has a name", oci(`"secretRef":{"name":""}`), "", "secretRef"},
		"timeout":       {"a time has a unit", with(`"timeout":"10"`), "", "timeout"},
		"no-time":       {"a time of 0 would fail every action", with(`"timeout":"0s"`), "", "less than a second"},
		"blink":         {"as above", with(`"install":{"timeout":"10ms"}`), "", "less than a second"},
		"days":          {"Flux has no unit for days", with(`"timeout":"1d"`), "", "timeout"},
		"retries":       {"-1 means no limit, and is the least", with(`"install":{"remediation":{"retries":-2}}`), "", "retries"},
		"strategy":      {"strategies are an enum", with(`"upgrade":{"remediation":{"strategy":"pray"}}`), "", "strategy"},
		"mode":          {"modes are an enum", with(`"driftDetection":{"mode":"on"}`), "", "mode"},
		"pointer":       {"a path is a JSON pointer", with(`"driftDetection":{"ignore":[{"paths":["spec.replicas"]}]}`), "", "paths"},
		"pathless":      {"a rule ignores something", with(`"driftDetection":{"ignore":[{"paths":[]}]}`), "", "paths"},
		"account":       {"a service account's name", with(`"serviceAccountName":"A b"`), "", "serviceAccountName"},
		"kind":          {"values come from a Secret or a ConfigMap", with(`"valuesFrom":[{"kind":"Pod","name":"a"}]`), "", "kind"},
		"key":           {"a key of data", with(`"valuesFrom":[{"kind":"Secret","name":"a","valuesKey":"a b"}]`), "", "valuesKey"},
		"path":          {"a path of values", with(`"valuesFrom":[{"kind":"Secret","name":"a","targetPath":"a b"}]`), "", "targetPath"},
		"itself":        {"nothing waits for itself", with(`"dependsOn":[{"name":"itself"}]`), "", "spec.dependsOn names the instance itself"},
		"twice":         {"a list of names", with(`"dependsOn":[{"name":"a"},{"name":"a"}]`), "", "Duplicate value"},
		"holder":        {"a placeholder has no release", `{` + reference + `"mode":"placeholder","dependsOn":[{"name":"a"}]}`, "", "a placeholder has no release: remove valuesFrom"},
		"later-timeout": {"each can be changed", with(`"timeout":"10m"`), with(`"timeout":"20m"`), ""},
	})
}

func TestOperationRules(t *testing.T) {
	const target = `"targetRef":{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","name":"web"},`
	plain := `{` + target + `"type":"Backup","engine":"velero","parameters":{"ttl":"1h"}}`
	judge(t, "ops.vworkspace.io/v1alpha1", "Operation", map[string]rule{
		"plain":         {"the usual case", plain, "", ""},
		"snapshot":      {"the message names the engine to use instead", `{` + target + `"type":"Backup","engine":"snapshot"}`, "", "write volsync, with parameters.volumeSnapshot: true"},
		"bare":          {"parameters are optional", `{` + target + `"type":"Backup","engine":"velero"}`, "", ""},
		"other-kind":    {"the target is an ApplicationInstance", strings.Replace(plain, `"kind":"ApplicationInstance"`, `"kind":"Pod"`, 1), "", "kind"},
		"other-version": {"there is one version", strings.Replace(plain, "apps.vworkspace.io/v1alpha1", "v1", 1), "", "apiVersion"},
		"other-type":    {"types are an enum", strings.Replace(plain, "Backup", "Party", 1), "", "type"},
		"other-engine":  {"engines are an enum", strings.Replace(plain, "velero", "party", 1), "", "engine"},
		"retarget":      {"the target is fixed", plain, strings.Replace(plain, `"name":"web"`, `"name":"db"`, 1), "targetRef can't be changed"},
		"retype":        {"the type is fixed", plain, strings.Replace(plain, "Backup", "Restore", 1), "type can't be changed"},
		"re-engine":     {"the engine is fixed", plain, strings.Replace(plain, "velero", "volsync", 1), "engine can't be changed"},
		"parameters":    {"parameters may change before the start", plain, strings.Replace(plain, "1h", "2h", 1), ""},
	})
}

func TestClusterRules(t *testing.T) {
	judge(t, "ops.vworkspace.io/v1alpha1", "Cluster", map[string]rule{
		"pull":       {"the usual case", `{"controlPlaneEndpoint":"https://tend.example.org"}`, "", ""},
		"push":       {"needs no endpoint", `{"connectivityMode":"push"}`, "", ""},
		"nowhere":    {"pull needs an endpoint", `{}`, "", "controlPlaneEndpoint is required"},
		"ftp":        {"by HTTP", `{"controlPlaneEndpoint":"ftp://tend.example.org"}`, "", "controlPlaneEndpoint"},
		"identified": {"an identity is a label's value", `{"controlPlaneEndpoint":"https://a","clusterId":"berlin-1"}`, `{"controlPlaneEndpoint":"https://a","clusterId":"berlin-2"}`, "clusterId can't be changed"},
		"old-token":  {"the message says where a token belongs", `{"controlPlaneEndpoint":"https://a","registrationToken":"t"}`, "", "put the token into a Secret"},
		"old-url":    {"the message for an older name gives the current one", `{"controlPlaneBaseUrl":"https://a"}`, "", "is called controlPlaneEndpoint here"},
		"oldest-url": {"as above", `{"odooBaseUrl":"https://a"}`, "", "odooBaseUrl is called controlPlaneEndpoint here"},
		"no-label":   {"as above", `{"controlPlaneEndpoint":"https://a","clusterId":"ber lin"}`, "", "clusterId"},
	})
}

// TestStartedOperationIsFixed: parameters can't be changed once an operation has started, and a terminal phase never.
func TestStartedOperationIsFixed(t *testing.T) {
	server := kubetest.Shared()
	namespace, writer := server.Namespace(t), server.Client(t, "rules")
	operation := parsed(t, "ops.vworkspace.io/v1alpha1", "Operation", namespace, "a", `{"targetRef":{"apiVersion":"apps.vworkspace.io/v1alpha1",`+
		`"kind":"ApplicationInstance","name":"web"},"type":"Backup","engine":"velero","parameters":{"ttl":{"hours":1}}}`)
	if err := writer.Create(t.Context(), operation); err != nil {
		t.Fatal(err)
	}
	phase := func(name string) error {
		set(t, operation, name, "status", "phase")
		return writer.Status().Update(t.Context(), operation)
	}
	set(t, operation, "2026-11-28T12:00:00Z", "status", "startedAt") // its object was requested; the engine has not begun
	if err := phase("Pending"); err != nil {
		t.Fatal(err)
	}
	set(t, operation, int64(2), "spec", "parameters", "ttl", "hours")
	if err := writer.Update(t.Context(), operation); err == nil || !strings.Contains(err.Error(), "spec.parameters can't be changed") {
		t.Errorf("change of a started operation's parameters: %v", err)
	}
	set(t, operation, int64(1), "spec", "parameters", "ttl", "hours")
	operation.SetLabels(map[string]string{"a": "b"})
	if err := writer.Update(t.Context(), operation); err != nil {
		t.Errorf("change of a started operation's labels: %v", err)
	}
	if err := phase("Succeeded"); err != nil {
		t.Fatal(err)
	}
	if err := phase("Failed"); err == nil || !strings.Contains(err.Error(), "a terminal phase can't be changed") {
		t.Errorf("change of a terminal phase: %v", err)
	}
}

// judge creates each object, updates it if after is set, and compares the answer with want.
func judge(t *testing.T, version, kind string, rules map[string]rule) {
	server := kubetest.Shared()
	namespace, writer := server.Namespace(t), server.Client(t, "rules")
	for name, r := range rules {
		object := parsed(t, version, kind, namespace, name, r.spec)
		err := writer.Create(t.Context(), object)
		if r.after != "" {
			if err != nil {
				t.Errorf("%s: %s: create: %v", name, r.reason, err)
				continue
			}
			object.Object["spec"] = parsed(t, version, kind, namespace, name, r.after).Object["spec"]
			err = writer.Update(t.Context(), object)
		}
		if r.want == "" && err != nil || r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want)) {
			t.Errorf("%s: %s: answered %v, want %q", name, r.reason, err, r.want)
		}
	}
}

func parsed(t *testing.T, version, kind, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":%q},"spec":%s}`,
		version, kind, namespace, name, strings.ReplaceAll(spec, "NS", namespace))
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if kind == "Cluster" {
		object.SetNamespace("")
	}
	return object
}

func set(t *testing.T, object *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}
