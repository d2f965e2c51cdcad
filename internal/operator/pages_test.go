//go:build kube

package operator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/operation"
)

// page is a page of docs/operate/kubernetes that is read as a newcomer does: from top to bottom, on a cluster that has
// all kinds.
type page struct {
	*testing.T
	user client.Client
	// first is the page's first ApplicationInstance or Operation: the later examples are parts of one like it.
	first map[string]any
	// section holds the commands of the section so far, and the manifests of what operations need.
	section string
	read    int
}

// The parts of a page: a heading, or a block of code.
var parts = regexp.MustCompile("(?ms)^(#+) [^\n]*$|^```(\\w+)\n(.*?)^```$")

// TestPages: each manifest of the pages is accepted by the API server and by the operator, which makes an object that
// the API server accepts too. What an operation needs is created in the section, or named there.
func TestPages(t *testing.T) {
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux, kubetest.Velero, kubetest.Argo, kubetest.VolSync,
		kubetest.Snapshots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	user := server.Client(t, "newcomer")
	if err := user.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}); err != nil {
		t.Fatal(err)
	}
	manifests := map[string]int{"applicationinstance.md": 4, "cluster.md": 1, "operation.md": 8}
	pages, err := filepath.Glob(filepath.Join(pagesDir, "*.md"))
	if err != nil || len(pages) < len(manifests) {
		t.Fatal(pages, err)
	}
	for _, file := range pages {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p := &page{T: t, user: user}
			if p.follow(file); p.read != manifests[filepath.Base(file)] {
				t.Errorf("%d manifests were read, want %d", p.read, manifests[filepath.Base(file)])
			}
		})
	}
	t.Run("moving", func(t *testing.T) { moving(t, &page{T: t, user: user}) })
}

const pagesDir = "../../docs/operate/kubernetes"

func (p *page) follow(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		p.Fatal(err)
	}
	for _, part := range parts.FindAllStringSubmatch(string(text), -1) {
		switch heading, language, block := part[1], part[2], part[3]; {
		case heading != "":
			p.section = ""
		case language == "sh":
			p.section += block
		case language == "yaml" && !strings.HasPrefix(block, "# kustomization.yaml"): // install_test.go builds that one
			p.read++
			p.take(block)
		}
	}
}

// take takes a manifest, or the part of one that the page shows.
func (p *page) take(block string) {
	var given map[string]any
	if err := yaml.Unmarshal([]byte(block), &given); err != nil {
		p.Fatalf("%v:\n%s", err, block)
	}
	whole := given
	switch {
	case given["kind"] != nil && p.first == nil:
		p.first = given
	case given["kind"] != nil:
		p.section += block
	case given["kind"] == nil:
		if given["spec"] == nil { // the spec alone
			given = map[string]any{"spec": given}
		}
		whole = map[string]any{}
		for key, value := range p.first {
			whole[key] = value
		}
		if whole["spec"] = given["spec"]; whole["kind"] == "Operation" {
			whole["spec"].(map[string]any)["targetRef"] = p.first["spec"].(map[string]any)["targetRef"]
		} else {
			whole["spec"] = over(p.first["spec"].(map[string]any), given["spec"].(map[string]any))
		}
	}
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(asJSON(p.T, whole))}
	p.accepted("create", block, p.user.Create(p.Context(), object, client.DryRunAll, client.FieldValidation("Strict")))
	object.SetGeneration(1)
	object.SetUID("uid")
	switch object.GetKind() {
	case "ApplicationInstance":
		p.install(block, object)
	case "Operation":
		p.operate(block, object)
	}
}

func (p *page) install(block string, object *unstructured.Unstructured) {
	made := &appsv1alpha1.ApplicationInstance{}
	p.accepted("read", block, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made))
	p.accepted("admit", block, instance.Admit(made, nil))
	result := instance.Plan(made, &instance.Observed{Dependencies: map[string]string{"db": "db"}}, time.Now())
	if len(result.Apply) == 0 {
		p.Errorf("nothing is installed: %+v\n%s", result.Status.Conditions, block)
	}
	for _, child := range result.Apply {
		p.apply(block, child)
	}
}

// advertises finds the annotations of the commands, and of the page's table for an operation before the first command.
var advertises = regexp.MustCompile(`ops\.vworkspace\.io/([a-z]+)=([A-Za-z]+)`)

func (p *page) operate(block string, object *unstructured.Unstructured) {
	op, target := &opsv1alpha1.Operation{}, &appsv1alpha1.ApplicationInstance{}
	p.accepted("read", block, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, op))
	target.Spec.Chart, target.Spec.Release = &appsv1alpha1.Chart{Version: "1.2.3"}, &appsv1alpha1.Release{Name: "web"}
	target.Name, target.Namespace, target.Annotations = op.Spec.TargetRef.Name, op.Namespace, map[string]string{}
	commands := p.section
	if p.read == 1 {
		commands = "ops.vworkspace.io/backup=velero"
	}
	for _, found := range advertises.FindAllStringSubmatch(commands, -1) {
		target.Annotations["ops.vworkspace.io/"+found[1]] = found[2]
	}
	in := operation.Input{Now: time.Now()}
	in.Operation, in.Target, in.SnapshotDriver = op, target, "csi.example.org"
	in.Release = &engine.Release{Name: "web", Status: "deployed", Hooks: []engine.Hook{{Name: "web-migrate", Kind: "Job",
		Events: []string{"post-upgrade"}, Manifest: hook}}}
	waits, err := operation.Admit(in)
	if p.accepted("admit", block, err); waits != "" {
		p.Errorf("it waits: %s\n%s", waits, block)
	}
	plan := operation.Decide(in)
	switch {
	case plan.Apply != nil:
		p.apply(block, plan.Apply)
	case plan.Status.StartedAt == nil || op.Spec.Engine != opsv1alpha1.EngineHelm: // which changes the instance's release
		p.Errorf("nothing is started: %s: %+v\n%s", plan, plan.Status.Conditions, block)
	}
	for _, need := range engine.Needs(op) {
		if !strings.Contains(p.section, need.Name) && !slices.Contains([]string{"web-data", "fast"}, need.Name) &&
			!strings.Contains(p.section, "runner/runner.yaml") {
			p.Errorf("the section creates no %s %s:\n%s", need.Kind, need.Name, p.section)
		}
	}
}

const hook = `
apiVersion: batch/v1
kind: Job
metadata: {name: web-migrate, annotations: {"helm.sh/hook": post-upgrade}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: "web:1"}]}}}`

// apply applies what the operator makes, without storing it.
func (p *page) apply(block string, object *unstructured.Unstructured) {
	object = object.DeepCopy()
	object.SetOwnerReferences(nil)
	p.accepted("apply "+object.GetKind(), block, p.user.Apply(p.Context(), client.ApplyConfigurationFromUnstructured(object),
		client.DryRunAll, client.FieldOwner("operator")))
}

func (p *page) accepted(what, block string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s: %v\n%s", what, err, block)
	}
}

// over returns values with others written over them.
func over(values, others map[string]any) map[string]any {
	merged := map[string]any{}
	for key, value := range values {
		merged[key] = value
	}
	for key, value := range others {
		merged[key] = value
	}
	return merged
}

// asJSON returns values with the types that JSON has.
func asJSON(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(values)
	object := &unstructured.Unstructured{}
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err == nil {
		err = object.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object.Object
}
