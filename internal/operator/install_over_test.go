//go:build kube

package operator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

// installation is a cluster in which a person installs the operator with helm or kubectl. Helm's library, and requests
// like kubectl's, stand in for the commands.
type installation struct {
	*testing.T
	admin  client.Client
	config string
}

// TestInstallationsOverEachOther takes the steps of docs/operate/kubernetes/installing.md: an upgrade by Helm, from
// Helm to Kustomize, back to Helm, and an uninstall. Each step is refused without its options, as the page says.
func TestInstallationsOverEachOther(t *testing.T) {
	server, err := kubetest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	i := &installation{T: t, admin: server.Client(t, "kubectl"), config: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := server.WriteKubeconfig(i.config, "person"); err != nil {
		t.Fatal(err)
	}
	i.helm("install", i.older(), "v1")
	i.runs("v1", "older")

	i.refused("the kinds without force", `conflict with "helm"`, i.apply(i.kinds(), false))
	i.done("the kinds", i.apply(i.kinds(), true))
	i.helm("upgrade", chart, "v2", "--force-conflicts")
	i.runs("v2", "appinst")

	base := render(t, "", "kustomize", base)
	i.refused("Kustomize over Helm without force", "conflict", i.apply(base, false))
	i.done("Kustomize over Helm", i.apply(base, true))
	i.forget()
	i.runs("dev", "appinst")

	i.refused("Helm over Kustomize without options", "conflict", i.release("install", chart, "v3", "--skip-crds"))
	i.forget() // Helm records the refused step as a failed release
	i.helm("install", chart, "v3", "--skip-crds", "--take-ownership", "--force-conflicts")
	i.runs("v3", "appinst")
	i.done("the kinds again", i.apply(i.kinds(), true))
	i.helm("upgrade", chart, "v4", "--force-conflicts")
	i.runs("v4", "appinst")

	i.helm("uninstall", chart, "")
	err = i.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "tend-operator"}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("after helm uninstall the Deployment is there: %v", err)
	}
	if name := i.shortName(); name != "appinst" {
		t.Errorf("after helm uninstall the kinds are gone: %q", name)
	}
}

// forget makes Helm forget the release.
func (i *installation) forget() {
	i.Helper()
	i.done("forget the release", i.admin.DeleteAllOf(i.Context(), &corev1.Secret{}, client.InNamespace(namespace),
		client.MatchingLabels{"owner": "helm", "name": "tend-operator"}))
}

// older returns a chart whose kinds differ from the current ones.
func (i *installation) older() string {
	i.Helper()
	folder := filepath.Join(i.TempDir(), "chart")
	if out, err := exec.CommandContext(i.Context(), "cp", "-rL", chart, folder).CombinedOutput(); err != nil {
		i.Fatalf("copy the chart: %v: %s", err, out)
	}
	kind := filepath.Join(folder, "crds", "apps.vworkspace.io_applicationinstances.yaml")
	text, err := os.ReadFile(kind)
	if err != nil {
		i.Fatal(err)
	}
	if err := os.WriteFile(kind, []byte(strings.Replace(string(text), "- appinst\n", "- older\n", 1)), 0o600); err != nil {
		i.Fatal(err)
	}
	return folder
}

// helm runs a verb through Helm's library as the command does.
func (i *installation) helm(verb, chart, tag string, options ...string) {
	i.Helper()
	if err := i.release(verb, chart, tag, options...); err != nil {
		i.Fatalf("helm %s %s: %v", verb, tag, err)
	}
}

func (i *installation) release(verb, chart, tag string, options ...string) error {
	folder, err := filepath.Abs(chart)
	if err != nil {
		return err
	}
	args := append([]string{"run", "-C", "../../tools/kuberender", ".", "release", verb, folder, namespace}, options...)
	command := exec.CommandContext(i.Context(), "go", args...)
	command.Stdin = strings.NewReader(fmt.Sprintf("image: {tag: %q}", tag))
	command.Env = append(os.Environ(), "KUBECONFIG="+i.config)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// kinds returns the shipped CRDs.
func (i *installation) kinds() []*unstructured.Unstructured {
	i.Helper()
	kinds, err := kubetest.Tend()
	if err != nil {
		i.Fatal(err)
	}
	return kinds
}

// apply applies objects as kubectl apply --server-side does, with --force-conflicts if force is set. It returns the
// first error.
func (i *installation) apply(objects []*unstructured.Unstructured, force bool) error {
	options := []client.PatchOption{client.FieldOwner("kubectl")}
	if force {
		options = append(options, client.ForceOwnership)
	}
	var first error
	for _, object := range objects {
		text, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		err = i.admin.Patch(i.Context(), object.DeepCopy(), client.RawPatch(types.ApplyPatchType, text), options...)
		if err != nil && first == nil {
			first = fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return first
}

func (i *installation) done(what string, err error) {
	i.Helper()
	if err != nil {
		i.Fatalf("%s: %v", what, err)
	}
}

// refused fails the test unless a step was refused for the reason: a step that isn't refused needs no option on the
// page.
func (i *installation) refused(what, reason string, err error) {
	i.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		i.Errorf("%s: %v, want a refusal: %s", what, err, reason)
	}
}

// runs fails the test unless the Deployment has the image tag and the stored kinds are of the version.
func (i *installation) runs(tag, kinds string) {
	i.Helper()
	deployment := &appsv1.Deployment{}
	if err := i.admin.Get(i.Context(), client.ObjectKey{Namespace: namespace, Name: "tend-operator"}, deployment); err != nil {
		i.Fatal(err)
	}
	if image := deployment.Spec.Template.Spec.Containers[0].Image; image != "tend-operator:"+tag {
		i.Errorf("the Deployment runs %s, want the tag %s", image, tag)
	}
	if name := i.shortName(); name != kinds {
		i.Errorf("the short name of an ApplicationInstance is %q, want %q: the kinds are of another version", name, kinds)
	}
}

// shortName returns the short name of the stored kind ApplicationInstance.
func (i *installation) shortName() string {
	i.Helper()
	all := i.kinds()
	at := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return strings.HasPrefix(o.GetName(), "applicationinstances.")
	})
	live := all[at].DeepCopy()
	if err := i.admin.Get(i.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		return err.Error()
	}
	names, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "names", "shortNames")
	return strings.Join(names, " ")
}
