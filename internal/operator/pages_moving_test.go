//go:build kube

package operator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/operation"
)

// older is a manifest for vworkspace-operator: what stands in the first cell of a row of the page, and a part of the
// answer, which is empty if it is accepted. Its spec is JSON. One without a spec is a row that says nothing of a
// manifest.
type older struct{ kind, spec, answer string }

const (
	olderTarget = `"targetRef":{"apiVersion":"apps.vworkspace.io/v1alpha1","kind":"ApplicationInstance","name":"web"},`
	olderRest   = `,"release":{"name":"web","namespace":"prod"},"values":{"source":"inline","inline":{}}}`
	olderChart  = `{"appRef":{"catalogId":"web"},"chart":{"sourceType":"oci","url":"oci://r.example.org/c","name":"web","version":`
)

// olderManifests are the rows of migrate-from-vworkspace-operator.md, by the beginning of their first cells.
var olderManifests = map[string]older{
	"Cluster: `registrationToken: vwksp-reg-…`": {"Cluster", `{"controlPlaneEndpoint":"https://a","registrationToken":"vwksp-reg-a"}`,
		"put the token into a Secret of the operator's namespace, and name that in registrationTokenSecretRef"},
	"Cluster: `controlPlaneBaseUrl`, `odooBaseUrl`": {"Cluster", `{"controlPlaneBaseUrl":"https://a"}`, "controlPlaneEndpoint"},
	"Cluster: `registrationTokenSecretRef`": {"Cluster",
		`{"controlPlaneEndpoint":"https://a","registrationTokenSecretRef":{"name":"a","key":"token"}}`, ""},
	"Cluster: `capabilities`": {"Cluster", `{"controlPlaneEndpoint":"https://a","capabilities":["velero"]}`, `unknown field "spec.capabilities"`},
	"Operation: `engine: snapshot`": {"Operation", `{` + olderTarget + `"type":"Backup","engine":"snapshot"}`,
		"write volsync, with parameters.volumeSnapshot: true"},
	"Operation: `parameters: {template: …}`": {"Operation", `{` + olderTarget + `"type":"Runbook","engine":"workflow","parameters":{"template":"a"}}`, ""},
	"Operation: `parameters: {image: …}`": {"Operation",
		`{` + olderTarget + `"type":"Migration","engine":"helmHookJob","parameters":{"image":"a","hookName":"b"}}`, "image"},
	"Operation: `retention: 30d`": {"Operation", `{` + olderTarget + `"type":"Backup","engine":"velero","parameters":{"retention":"30d"}}`, ""},
	"Operation: `csiSnapshotClassName`": {"Operation",
		`{` + olderTarget + `"type":"Backup","engine":"velero","parameters":{"csiSnapshotClassName":"fast"}}`, ""},
	"ApplicationInstance: `chart.version: ^1.2.0`, `latest`": {"ApplicationInstance", olderChart + `"^1.2.0"}` + olderRest, "version"},
	"ApplicationInstance: `chart.url: registry.example.org/charts`": {"ApplicationInstance",
		strings.Replace(olderChart, "oci://", "", 1) + `"1.2.0"}` + olderRest, "url must begin with oci://"},
	"ApplicationInstance: a password in `values.inline`": {"ApplicationInstance",
		olderChart + `"1.2.0"}` + strings.Replace(olderRest, `{}`, `{"password":"hunter2"}`, 1), "put the values into a Secret"},
	"ApplicationInstance: `catalogId: seaweedfs` without a chart": {"ApplicationInstance",
		`{"appRef":{"catalogId":"seaweedfs"}}`, "chart is required"},
	"Namespace: label": {}, "label `app.vworkspace.io/managed-by: odoo`": {}, "Backups in the namespace": {},
	"`spec.approvals.claim`": {},
}

// moving gives the manifest of each row of the page to the API server and to the webhooks.
func moving(t *testing.T, p *page) {
	text, err := os.ReadFile(filepath.Join(pagesDir, "migrate-from-vworkspace-operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(olderManifests) {
		t.Errorf("the page has %d rows, %d are known", len(rows), len(olderManifests))
	}
	for _, row := range rows {
		known := false
		for cell, is := range olderManifests {
			if !strings.HasPrefix(row, "| "+cell) {
				continue
			}
			known = true
			if is.spec == "" {
				continue
			}
			err := p.give(is)
			if is.answer == "" && err != nil || is.answer != "" && (err == nil || !strings.Contains(err.Error(), is.answer)) {
				t.Errorf("%s: answered %v, want %q", cell, err, is.answer)
			}
		}
		if !known {
			t.Errorf("no manifest of this row is tried: %s", row)
		}
	}
}

// give returns the refusal of a manifest, by the API server or by a webhook.
func (p *page) give(is older) error {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(is.spec), &spec); err != nil {
		p.Fatal(err)
	}
	version := opsv1alpha1.GroupVersion
	if is.kind == appsv1alpha1.Kind {
		version = appsv1alpha1.GroupVersion
	}
	object.SetGroupVersionKind(version.WithKind(is.kind))
	object.SetName("web")
	if is.kind != "Cluster" {
		object.SetNamespace("prod")
	}
	object.Object["spec"] = spec
	if err := p.user.Create(p.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		return err
	}
	switch is.kind {
	case "Operation":
		in := operation.Input{}
		in.Operation = &opsv1alpha1.Operation{}
		p.accepted("read", is.spec, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, in.Operation))
		_, err := operation.Admit(in)
		return err
	case appsv1alpha1.Kind:
		made := &appsv1alpha1.ApplicationInstance{}
		p.accepted("read", is.spec, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made))
		return instance.Admit(made, nil)
	}
	return nil
}
