package instance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// web is a managed instance with its finalizer, at generation 2.
func web() *appsv1alpha1.ApplicationInstance {
	return &appsv1alpha1.ApplicationInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web", UID: "u-1", Generation: 2, Finalizers: []string{identity.FinalizerInstance}},
		Spec: appsv1alpha1.ApplicationInstanceSpec{
			AppRef: appsv1alpha1.AppRef{CatalogID: "web"}, Mode: appsv1alpha1.ModeManaged,
			Chart:   &appsv1alpha1.Chart{SourceType: appsv1alpha1.ChartSourceOCI, URL: "oci://registry.example.org/charts/", Name: "web", Version: "1.2.3+5"},
			Release: &appsv1alpha1.Release{Name: "web", Namespace: "prod"},
			Values:  &appsv1alpha1.Values{Source: appsv1alpha1.ValuesInline, Inline: &runtime.RawExtension{Raw: []byte(`{"replicas":2,"a":{"b":1.5,"c":[1,"x"]}}`)}},
		},
	}
}

// applied returns the instance's children as they are after an apply: with a UID each, and Flux's status if given.
func applied(t *testing.T, instance *appsv1alpha1.ApplicationInstance, release, source map[string]any) *Observed {
	t.Helper()
	observed := &Observed{ClusterID: "berlin"}
	children, err := desired(instance, observed)
	if err != nil {
		t.Fatal(err)
	}
	for i, status := range []map[string]any{source, release} {
		live := children[i].DeepCopy()
		live.SetUID("live")
		live.SetGeneration(3)
		if status != nil {
			live.Object["status"] = status
		}
		observed.Children = append(observed.Children, live)
	}
	return observed
}

// flux returns a status with conditions, each given as type=status/reason, of the object's present generation.
func flux(conditions ...string) map[string]any { return fluxAt(3, conditions...) }

func fluxAt(generation int64, conditions ...string) map[string]any {
	list := []any{}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		status, reason, _ := strings.Cut(rest, "/")
		list = append(list, map[string]any{"type": kind, "status": status, "reason": reason, "message": "flux says " + reason, "observedGeneration": generation})
	}
	return map[string]any{"observedGeneration": generation, "conditions": list}
}

func installed(status map[string]any) map[string]any {
	status["history"] = []any{map[string]any{"version": int64(1), "status": "deployed"}}
	return status
}

func attempted(status map[string]any, version, digest string) map[string]any {
	status["lastAttemptedRevision"], status["lastAttemptedRevisionDigest"] = version, digest
	return status
}

func artifact(status map[string]any, revision string) map[string]any {
	status["artifact"] = map[string]any{"revision": revision}
	return status
}

// conditions returns a status's conditions as type=status/reason, in order of their types.
func conditions(status appsv1alpha1.ApplicationInstanceStatus) string {
	var parts []string
	for _, c := range status.Conditions {
		parts = append(parts, c.Type+"="+string(c.Status)+"/"+c.Reason)
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func TestTranslation(t *testing.T) {
	const rest = " Suspended=False/Active"
	ready := flux("Ready=True/Succeeded")
	tests := map[string]struct {
		reason          string
		release, source map[string]any
		want            string
	}{
		"nothing yet": {"Flux has not seen the release", nil, nil,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"default status": {"a new HelmRelease has observedGeneration -1 and no conditions", map[string]any{"observedGeneration": int64(-1)}, nil,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"another version": {"what is ready is the chart before", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.2+aa", "sha256:aa"), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"another digest": {"the tag has moved", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.3+aa", "sha256:aa"), artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:bb"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"this version": {"Flux has installed what the source fetched", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.3+aa", "sha256:aa"), artifact(flux("Ready=True/Succeeded"), "1.2.3@sha256:aa"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"source lags": {"the source has not seen its new tag", installed(flux("Ready=True/InstallSucceeded")), fluxAt(2, "Ready=True/Succeeded"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"no such version": {"the new chart can't be fetched", attempted(installed(flux("Ready=True/InstallSucceeded")), "1.2.2+aa", "sha256:aa"),
			artifact(flux("Ready=False/OCIArtifactPullFailed"), "1.2.2@sha256:aa"),
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=False/ChartUnreachable Reconciling=False/Stable" + rest},
		"ready": {"Ready=True becomes Ready=True", installed(flux("Ready=True/InstallSucceeded", "Released=True/InstallSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"upgrade failed": {"Released=False with UpgradeFailed becomes Degraded=True with HelmReleaseFailed",
			installed(flux("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"upgrade failed, ready": {"each condition is translated by itself", installed(flux("Released=False/UpgradeFailed", "Ready=True/Odd")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"retrying": {"a failure that Flux retries is reconciling too",
			installed(flux("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed", "Reconciling=True/ProgressingWithRetry")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=True/HelmReleaseUpgrading" + rest},
		"rolled back": {"after a rollback the release is still not the wanted one",
			installed(flux("Remediated=True/RollbackSucceeded", "Released=False/UpgradeFailed", "Ready=False/RollbackSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"stalled": {"Flux has given up", flux("Stalled=True/RetriesExceeded", "Ready=False/InstallFailed", "Released=False/InstallFailed"), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseFailed Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"installing": {"in progress", flux("Reconciling=True/Progressing", "Ready=Unknown/Progressing"), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling" + rest},
		"upgrading": {"in progress, with a release before", installed(flux("Reconciling=True/Progressing", "Ready=Unknown/Progressing")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"working while ready": {"Reconciling=True becomes Reconciling=True", installed(flux("Reconciling=True/Progressing", "Ready=True/UpgradeSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/HelmReleaseReady Reconciling=True/HelmReleaseUpgrading" + rest},
		"lagging": {"what Flux says is of an older spec", installed(fluxAt(2, "Ready=True/InstallSucceeded")), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseUpgrading" + rest},
		"fetching": {"the chart is not there yet", flux("Ready=False/SourceNotReady", "Reconciling=True/Progressing"), flux("Reconciling=True/Progressing"),
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=False/Installing Reconciling=True/ChartSourceSyncing" + rest},
		"unreachable": {"the source says so", flux("Ready=False/SourceNotReady"), flux("Ready=False/OCIArtifactPullFailed"),
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=False/ChartUnreachable Reconciling=True/ChartSourceSyncing" + rest},
		"unreachable, installed": {"what is installed stays ready", installed(flux("Ready=True/InstallSucceeded")), flux("Ready=False/OCIArtifactPullFailed"),
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=True/HelmReleaseReady Reconciling=False/Stable" + rest},
		"artifact failed": {"the release says so", flux("Ready=False/ArtifactFailed"), ready,
			"Blocked=False/Unblocked Degraded=True/ChartUnreachable Ready=False/ChartUnreachable Reconciling=False/Stable" + rest},
		"not ready": {"Ready=False is not Unknown", flux("Ready=False/DependencyNotReady"), ready,
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
		"not ready any more": {"it was installed", installed(flux("Ready=False/ReconcileError")), ready,
			"Blocked=False/Unblocked Degraded=True/HelmReleaseDegraded Ready=False/HelmReleaseFailed Reconciling=False/Stable" + rest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			instance := web()
			result := Plan(instance, applied(t, instance, test.release, test.source), noon)
			if got := conditions(result.Status); got != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.reason, got, test.want)
			}
			if len(result.Apply)+len(result.Delete) > 0 {
				t.Errorf("%s: it applies %v and deletes %v", test.reason, result.Apply, result.Delete)
			}
		})
	}
}

func TestMessagesArePreserved(t *testing.T) {
	instance := web()
	result := Plan(instance, applied(t, instance, installed(flux("Released=False/UpgradeFailed", "Ready=False/UpgradeFailed")), nil), noon)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Degraded"); c.Message != "flux says UpgradeFailed" {
		t.Errorf("Degraded says %q", c.Message)
	}
}

// TestPlanIsStable: a plan from the status that it wrote has nothing to write and nothing to say.
func TestPlanIsStable(t *testing.T) {
	for name, status := range map[string]map[string]any{
		"new": nil, "ready": installed(flux("Ready=True/InstallSucceeded")), "failed": flux("Released=False/InstallFailed", "Ready=False/InstallFailed"),
	} {
		instance := web()
		observed := applied(t, instance, status, flux("Ready=True/Succeeded"))
		first := Plan(instance, observed, noon)
		if len(first.Events) == 0 || !changed(instance.Status, first.Status) {
			t.Errorf("%s: the first plan reports nothing", name)
		}
		instance.Status = first.Status
		second := Plan(instance, observed, noon.Add(time.Hour))
		if changed(instance.Status, second.Status) || len(second.Events)+len(second.Apply)+len(second.Delete) > 0 || second.AddFinalizer {
			t.Errorf("%s: the second plan is not empty: %s", name, cmp.Diff(first.Status, second.Status))
		}
	}
}

// TestTimeOfTransition: a condition's time is that of its last change of status, and that of the status of its last change.
func TestTimeOfTransition(t *testing.T) {
	instance := web()
	instance.Status = Plan(instance, applied(t, instance, flux("Ready=Unknown/Progressing"), flux("Ready=True/Succeeded")), noon).Status
	later := noon.Add(time.Minute)
	result := Plan(instance, applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded")), later)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Ready"); !c.LastTransitionTime.Time.Equal(later) {
		t.Errorf("Ready changed at %s, want %s", c.LastTransitionTime, later)
	}
	if c := meta.FindStatusCondition(result.Status.Conditions, "Blocked"); !c.LastTransitionTime.Time.Equal(noon) {
		t.Errorf("Blocked changed at %s, want %s", c.LastTransitionTime, noon)
	}
	var events []string
	for _, e := range result.Events {
		events = append(events, e.Reason)
	}
	if diff := cmp.Diff([]string{"HelmReleaseReady", "Stable"}, events); diff != "" {
		t.Error(diff)
	}
}

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
	if diff := cmp.Diff(wantSource, children[0].Object["spec"]); diff != "" || children[0].GetKind() != "OCIRepository" || children[0].GetName() != "web-source" {
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
	instance.Spec.Values = &appsv1alpha1.Values{Source: appsv1alpha1.ValuesSecret, SecretRef: &appsv1alpha1.KeyRef{Name: "s", Key: "values.yaml"}}
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

func TestSpecialCases(t *testing.T) {
	holder := web()
	holder.Spec = appsv1alpha1.ApplicationInstanceSpec{Mode: appsv1alpha1.ModePlaceholder}
	elsewhere := web()
	elsewhere.Spec.Release.Namespace = "other"
	paused := web()
	paused.Annotations = map[string]string{identity.AnnotationReconcile: identity.ReconcileDisabled}
	tests := map[string]struct {
		reason   string
		instance *appsv1alpha1.ApplicationInstance
		observed *Observed
		want     string
		applies  int
	}{
		"placeholder": {"there is nothing to install", holder, &Observed{},
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=True/Placeholder Reconciling=False/Stable Suspended=False/Active", 0},
		"elsewhere": {"a release is in its instance's namespace", elsewhere, &Observed{},
			"Blocked=True/ValidationFailed Degraded=False/Recovered Ready=False/ValidationFailed Reconciling=False/Stable Suspended=False/Active", 0},
		"paused": {"nothing is applied", paused, &Observed{}, "Suspended=True/ReconcilePaused", 0},
		"no Flux": {"it waits for Flux", web(), &Observed{Absent: []schema.GroupVersionKind{kindHelmRelease}},
			"Blocked=True/MissingDependencies Degraded=False/Recovered Ready=False/HelmReleaseFailed Reconciling=False/Stable Suspended=False/Active", 0},
		"new": {"both children are applied", web(), &Observed{},
			"Blocked=False/Unblocked Degraded=False/Recovered Ready=Unknown/Reconciling Reconciling=True/HelmReleaseInstalling Suspended=False/Active", 2},
		"conflict": {"another manager is named", web(), &Observed{Refused: []Refusal{{"HelmRelease", "web", []Conflict{{Manager: "kubectl", Field: ".spec.interval"}}}}},
			"Blocked=True/FieldConflict Degraded=False/Recovered Ready=False/HelmReleaseFailed Reconciling=False/Stable Suspended=False/Active", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result := Plan(test.instance, test.observed, noon)
			if got := conditions(result.Status); got != test.want || len(result.Apply) != test.applies {
				t.Errorf("%s: applies %d\n got %s\nwant %s", test.reason, len(result.Apply), got, test.want)
			}
		})
	}
}

func TestConflictNamesManagerAndField(t *testing.T) {
	result := Plan(web(), &Observed{Refused: []Refusal{{"HelmRelease", "web", []Conflict{{Manager: "kubectl", Field: ".spec.interval"}}}}}, noon)
	c := meta.FindStatusCondition(result.Status.Conditions, "Blocked")
	if !strings.Contains(c.Message, "kubectl") || !strings.Contains(c.Message, ".spec.interval of HelmRelease web") {
		t.Errorf("Blocked says %q", c.Message)
	}
}

// TestDriftIsReported: what another changed in a child is named and left as it is, and what it added is no drift.
func TestDriftIsReported(t *testing.T) {
	instance := web()
	observed := applied(t, instance, installed(flux("Ready=True/InstallSucceeded")), flux("Ready=True/Succeeded"))
	release := observed.child(kindHelmRelease, "web")
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(release.Object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	set("10m", "spec", "timeout")
	set("b", "metadata", "labels", "a")
	if result := Plan(instance, observed, noon); meta.IsStatusConditionTrue(result.Status.Conditions, "Degraded") {
		t.Errorf("a field that another has added is drift: %s", conditions(result.Status))
	}
	set("1h", "spec", "interval")
	result := Plan(instance, observed, noon)
	c := meta.FindStatusCondition(result.Status.Conditions, "Degraded")
	if c.Reason != "Drifted" || !strings.Contains(c.Message, ".spec.interval of HelmRelease web") || len(result.Apply) > 0 {
		t.Errorf("Degraded=%s/%s %q, applies %d", c.Status, c.Reason, c.Message, len(result.Apply))
	}
	if !meta.IsStatusConditionTrue(result.Status.Conditions, "Ready") {
		t.Error("drift has nothing to do with Ready")
	}
}

// TestDeletion follows a deletion: the HelmRelease first, then the source, then the finalizer.
func TestDeletion(t *testing.T) {
	instance := web()
	observed := applied(t, instance, nil, nil)
	at := metav1.NewTime(noon)
	instance.DeletionTimestamp = &at
	foreign := object(kindHelmRepository, "prod", "web-source")
	observed.Children = append(observed.Children, foreign)

	result := Plan(instance, observed, noon)
	if len(result.Delete) != 1 || result.Delete[0].GetKind() != "HelmRelease" || result.RemoveFinalizer || conditions(result.Status) != "Deleting=True/Uninstalling" {
		t.Fatalf("first: deletes %v, %s", result.Delete, conditions(result.Status))
	}
	observed.child(kindHelmRelease, "web").SetDeletionTimestamp(&at)
	result = Plan(instance, observed, noon)
	if len(result.Delete) != 0 || result.RemoveFinalizer || conditions(result.Status) != "Deleting=True/WaitingForChildResources" {
		t.Fatalf("while Flux uninstalls: deletes %v, %s", result.Delete, conditions(result.Status))
	}
	observed.Children = slices.DeleteFunc(observed.Children, func(c *unstructured.Unstructured) bool { return c.GetKind() == "HelmRelease" })
	result = Plan(instance, observed, noon)
	if len(result.Delete) != 1 || result.Delete[0].GetKind() != "OCIRepository" || result.RemoveFinalizer {
		t.Fatalf("after the release: deletes %v", result.Delete)
	}
	observed.Children = []*unstructured.Unstructured{foreign}
	if result = Plan(instance, observed, noon); !result.RemoveFinalizer || len(result.Delete) > 0 {
		t.Fatalf("at the end: deletes %v, finalizer removed: %v", result.Delete, result.RemoveFinalizer)
	}
	instance.Finalizers = nil
	if result = Plan(instance, observed, noon); result.AddFinalizer || result.RemoveFinalizer {
		t.Error("an instance that is being deleted gets no finalizer")
	}
}

// TestChangedSourceType: the source of the other type goes once the release refers to the new one.
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

// TestForeignController: an object of a child's name that something else controls is neither applied nor deleted.
func TestForeignController(t *testing.T) {
	instance := web()
	observed := applied(t, instance, nil, nil)
	yes := true
	observed.child(kindHelmRelease, "web").SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "u-9", Controller: &yes}})
	result := Plan(instance, observed, noon)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Blocked"); c.Reason != "ForeignObject" || len(result.Apply)+len(result.Delete) > 0 {
		t.Errorf("Blocked=%s/%s, applies %d", c.Status, c.Reason, len(result.Apply))
	}
}

func TestMissingValues(t *testing.T) {
	instance := web()
	instance.Spec.Values = &appsv1alpha1.Values{Source: appsv1alpha1.ValuesSecret, SecretRef: &appsv1alpha1.KeyRef{Name: "s", Key: "values.yaml"}}
	result := Plan(instance, applied(t, instance, flux("Ready=False/ValuesError"), nil), noon)
	if c := meta.FindStatusCondition(result.Status.Conditions, "Blocked"); c.Reason != "MissingSecret" || c.Message != "flux says ValuesError" {
		t.Errorf("Blocked=%s/%s %q", c.Status, c.Reason, c.Message)
	}
}

func TestEndpoints(t *testing.T) {
	instance := web()
	instance.Spec.Integrations = &appsv1alpha1.Integrations{
		CertManager: &appsv1alpha1.Integration{Enabled: true}, Ingress: &appsv1alpha1.IngressIntegration{Enabled: true, Host: "web.example.org"},
	}
	if got := Plan(instance, applied(t, instance, nil, nil), noon).Status.Endpoints; len(got) != 0 {
		t.Errorf("an application that isn't ready has endpoints: %v", got)
	}
	got := Plan(instance, applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded")), noon).Status.Endpoints
	if diff := cmp.Diff([]appsv1alpha1.Endpoint{{Name: "ingress", URL: "https://web.example.org", Type: "ingress"}}, got); diff != "" {
		t.Error(diff)
	}
}
