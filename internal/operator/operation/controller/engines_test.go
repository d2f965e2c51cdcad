//go:build kube

package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

const jobDone = `{"startTime":"2026-11-25T12:00:00Z","completionTime":"2026-11-25T12:01:00Z","succeeded":1,"uncountedTerminatedPods":{},"conditions":[
	{"type":"SuccessCriteriaMet","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-25T12:01:00Z"},
	{"type":"Complete","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-25T12:01:00Z"}]}`

const jobActive = `{"startTime":"2026-11-25T12:00:00Z","active":1,"ready":1,"uncountedTerminatedPods":{}}`

const jobFailed = `{"startTime":"2026-11-25T12:00:00Z","failed":1,"uncountedTerminatedPods":{},"conditions":[
	{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"backoff","lastProbeTime":null,"lastTransitionTime":"2026-11-25T12:01:00Z"},
	{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"backoff","lastProbeTime":null,"lastTransitionTime":"2026-11-25T12:01:00Z"}]}`

// TestEngines runs each engine against the API server, from the operation to its result as the engine's controller
// would report it.
func TestEngines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	tests := map[string]struct {
		kind              opsv1alpha1.OperationType
		engine            opsv1alpha1.Engine
		parameters        string
		object            schema.GroupVersionKind
		status            string
		phase             opsv1alpha1.OperationPhase
		condition, reason string
		output            string
	}{
		"run": {opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1","args":["<&>"],"timeoutSeconds":3600}`, engine.KindJob, jobDone,
			opsv1alpha1.PhaseSucceeded, "Succeeded", "JobSucceeded", "jobName"},
		"run-badly": {opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1","backoffLimit":0}`, engine.KindJob, jobFailed,
			opsv1alpha1.PhaseFailed, "Failed", "JobFailedBackoffExceeded", "jobName"},
		"book": {opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"workflowTemplate":"rotate"}`, engine.KindWorkflow, `{"phase":"Succeeded"}`,
			opsv1alpha1.PhaseSucceeded, "Succeeded", "WorkflowSucceeded", "workflowName"},
		"backup": {opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{"retention":"30d"}`, engine.KindBackup, `{"phase":"Completed"}`,
			opsv1alpha1.PhaseSucceeded, "Succeeded", "VeleroBackupCompleted", "backupName"},
		"backup-refused": {opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{}`, engine.KindBackup, `{"phase":"FailedValidation","validationErrors":["no"]}`,
			opsv1alpha1.PhaseFailed, "Failed", "EngineFailed", "backupName"},
		"snapshot": {opsv1alpha1.TypeBackup, opsv1alpha1.EngineVolSync, `{"pvc":"data","volumeSnapshot":true}`, engine.KindVolumeSnapshot, `{"readyToUse":true}`,
			opsv1alpha1.PhaseSucceeded, "Succeeded", "VolumeSnapshotReadyToUse", "volumeSnapshotName"},
		"replicate": {opsv1alpha1.TypeBackup, opsv1alpha1.EngineVolSync, `{"pvc":"data","repository":{"secretName":"restic"}}`, engine.KindReplicationSource,
			`{"lastManualSync":"UID","lastSyncTime":"2026-11-25T12:00:00Z"}`, opsv1alpha1.PhaseSucceeded, "Succeeded", "VolSyncLastSyncSucceeded", "replicationName"},
		"slow": {opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"workflowTemplate":"rotate"}`, engine.KindWorkflow,
			`{"phase":"Running","nodes":{"n":{"id":"n","name":"n","type":"Suspend","phase":"Running","displayName":"confirm"}}}`,
			opsv1alpha1.PhaseRunning, "Blocked", "AwaitingResume", "workflowName"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{T: t, server: w.server, namespace: w.namespace, user: w.user, player: w.player}
			created := w.create(name, test.kind, test.engine, test.parameters)
			object := w.play(test.object, name, strings.ReplaceAll(test.status, "UID", string(created.UID)))
			op := w.reaches(name, test.phase, test.condition, test.reason)
			for label, want := range identity.Labels("berlin", "web") {
				if got := object.GetLabels()[label]; got != want {
					t.Errorf("the object has the label %s=%s, want %s", label, got, want)
				}
			}
			if owners := object.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != op.UID ||
				object.GetLabels()[identity.LabelOperation] != string(op.UID) {
				t.Errorf("the object does not say whose it is: %v, %v", owners, object.GetLabels())
			}
			for _, entry := range object.GetManagedFields() {
				if entry.Manager != "player" &&
					(entry.Manager != identity.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply) {
					t.Errorf("the object was written by %s by %s", entry.Manager, entry.Operation)
				}
			}
			if op.Status.EngineRef.UID != string(object.GetUID()) || w.output(op, test.output) != name ||
				op.Status.StartedAt == nil {
				t.Errorf("status: %+v, outputs %s", op.Status, op.Status.Outputs.Raw)
			}
		})
	}
}

// TestUpgradeEndsAndIsNotUndone: the controller of instances writes what the upgrade requests, and Flux installs it.
// Nothing undoes it until the user changes the instance. Deleting the operation waits for that.
func TestUpgradeEndsAndIsNotUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	w.create("up", opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, `{"targetVersion":"2.0.0"}`)
	w.version("2.0.0")
	w.reaches("up", opsv1alpha1.PhaseRunning, "Running", "EngineStarted")
	w.installs("2.0.0")
	op := w.reaches("up", opsv1alpha1.PhaseSucceeded, "Succeeded", "EngineCompleted")
	if w.output(op, "helmReleaseName") != "web" || w.output(op, "version") != "2.0.0" {
		t.Errorf("outputs: %s", op.Status.Outputs.Raw)
	}
	w.version("2.0.0")
	if err := w.user.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	w.reaches("up", opsv1alpha1.PhaseSucceeded, "Blocked", "UpgradeInEffect")
	w.version("2.0.0")
	instance := &appsv1alpha1.ApplicationInstance{}
	kubetest.Eventually(w, "change of the instance", func(ctx context.Context) error {
		if err := w.user.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web"}, instance); err != nil {
			return err
		}
		instance.Spec.Chart.Version = "2.0.1"
		return w.user.Update(ctx, instance)
	})
	w.gone("up")
	w.version("2.0.1")
}

// version waits until the HelmRelease requests a version.
func (w *world) version(want string) {
	w.Helper()
	kubetest.Eventually(w, "version of the HelmRelease", func(ctx context.Context) error {
		live, err := w.get(ctx, engine.KindHelmRelease, "web")
		if err != nil {
			return err
		}
		if got := fmt.Sprint(live.Object["spec"].(map[string]any)["chart"].(map[string]any)["spec"].(map[string]any)["version"]); got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	})
}

// installs makes Flux report a version as installed, for the current generation.
func (w *world) installs(version string) {
	w.Helper()
	live, err := w.get(w.Context(), engine.KindHelmRelease, "web")
	if err != nil {
		w.Fatal(err)
	}
	w.play(engine.KindHelmRelease, "web", fmt.Sprintf(`{"observedGeneration":%d,"storageNamespace":%q,
		"conditions":[{"type":"Ready","status":"True","reason":"UpgradeSucceeded","message":"upgraded","observedGeneration":%d,"lastTransitionTime":"2026-11-25T12:00:00Z"}],
		"history":[%s]}`, live.GetGeneration(), w.namespace, live.GetGeneration(), w.revision(2, version, "deployed")))
}

// revision returns a revision of the release in Flux's form.
func (w *world) revision(number int, version, status string) string {
	return fmt.Sprintf(`{"name":"web","namespace":%q,"version":%d,"chartName":"web","chartVersion":%q,"configDigest":"sha256:0","digest":"sha256:0",
		"status":%q,"firstDeployed":"2026-11-25T12:00:00Z","lastDeployed":"2026-11-25T12:00:00Z"}`, w.namespace, number, version, status)
}

// gone waits until an operation no longer exists.
func (w *world) gone(name string) {
	w.Helper()
	kubetest.Eventually(w, "deletion of "+name, func(ctx context.Context) error {
		if _, err := w.operation(ctx, name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
}

// stores creates the Secrets that Helm itself wrote for a release's revisions: 1 is superseded, 2 deployed, 3 failed.
func (w *world) stores(release string) {
	w.Helper()
	text, err := os.ReadFile("../../engine/testdata/helm/secrets.json")
	if err != nil {
		w.Fatal(err)
	}
	var secrets []corev1.Secret
	if err := json.Unmarshal(text, &secrets); err != nil {
		w.Fatal(err)
	}
	for i := range secrets {
		if secrets[i].Labels["name"] != release {
			continue
		}
		secrets[i].Namespace = w.namespace
		if err := w.user.Create(w.Context(), &secrets[i]); err != nil {
			w.Fatal(err)
		}
	}
}

// TestHookJobRunsWhatTheChartDeclares: the hook is read from the Secrets that Helm wrote, from the deployed revision
// although a newer one failed.
func TestHookJobRunsWhatTheChartDeclares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	w.version("1.0.0")
	w.stores("web")
	w.play(engine.KindHelmRelease, "web", fmt.Sprintf(`{"storageNamespace":%q,"history":[%s,%s,%s]}`, w.namespace,
		w.revision(3, "1.2.0", "failed"), w.revision(2, "1.1.0", "deployed"), w.revision(1, "1.0.0", "superseded")))
	w.create("absent", opsv1alpha1.TypeMigration, opsv1alpha1.EngineHelmHookJob, `{"hookName":"web-seed"}`)
	w.reaches("absent", opsv1alpha1.PhaseFailed, "Failed", "PreconditionFailed")
	w.create("migrate", opsv1alpha1.TypeMigration, opsv1alpha1.EngineHelmHookJob, `{"hookName":"web-migrate"}`)
	object := w.play(engine.KindJob, "migrate", jobDone)
	op := w.reaches("migrate", opsv1alpha1.PhaseSucceeded, "Succeeded", "HelmHookJobSucceeded")
	containers := object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
	if image := containers[0].(map[string]any)["image"]; image != "web:1.1.0" || w.output(op, "jobName") != "migrate" || w.output(op, "completionTime") == "" {
		t.Errorf("image %v, outputs %s", image, op.Status.Outputs.Raw)
	}
}

// TestTransitionsAreEvents: an operation that was blocked, ran and succeeded has an Event for each transition.
func TestTransitionsAreEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	op := w.create("odd", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{"unknown":1}`)
	w.reaches("odd", opsv1alpha1.PhasePending, "Blocked", "ValidationFailed")
	kubetest.Eventually(w, "correction", func(ctx context.Context) error {
		op, err := w.operation(ctx, "odd")
		if err != nil {
			return err
		}
		op.Spec.Parameters.Raw = []byte(`{}`)
		return w.user.Update(ctx, op)
	})
	w.play(engine.KindBackup, "odd", `{"phase":"Completed"}`)
	w.reaches("odd", opsv1alpha1.PhaseSucceeded, "Succeeded", "VeleroBackupCompleted")
	kubetest.Eventually(w, "events", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := w.user.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		have := map[string]bool{}
		for _, event := range list.Items {
			if event.Regarding.UID == op.UID {
				have[event.Type+" "+event.Reason] = true
			}
		}
		for _, want := range []string{"Warning OperationBlocked", "Normal OperationNotBlocked", "Normal OperationAccepted", "Normal OperationNotRunning", "Normal OperationSucceeded"} {
			if !have[want] {
				return fmt.Errorf("no event %s, have %v", want, have)
			}
		}
		return nil
	})
}
