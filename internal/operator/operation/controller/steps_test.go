//go:build kube

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/operation"
	"tend.dev/tend/internal/operator/operation/controller"
	"tend.dev/tend/internal/operator/transition"
)

// direct returns a reconciler without a cache. hook is called before and after each write; an error from it ends the
// reconcile.
func (w *world) direct(hook func() error) *controller.Reconciler {
	w.Helper()
	hooked, plain := w.server.Stepwise(w, w.agent(), hook)
	return &controller.Reconciler{
		Client: hooked, Live: plain, ClusterID: func(context.Context) (string, error) { return "berlin", nil },
		Events: &transition.Recorder{Client: plain, Live: plain, Reporter: w.agent(), Now: time.Now}, Now: time.Now,
		ApprovalSecret: func(context.Context) ([]byte, error) { return secret, nil },
	}
}

func (w *world) request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: name}}
}

// settle reconciles operations until nothing is written, and reports whether a kill ended a reconcile.
func (w *world) settle(reconciler *controller.Reconciler, names ...string) (killed bool) {
	w.Helper()
	for range 10 {
		before := len(w.writes())
		for _, name := range names {
			if _, err := reconciler.Reconcile(w.Context(), w.request(name)); err != nil && !errors.Is(err, kubetest.ErrKilled) {
				w.Fatal(err)
			} else if err != nil {
				killed, before = true, -1
			}
		}
		if len(w.writes()) == before {
			return killed
		}
	}
	w.Fatal("the writes don't end")
	return false
}

// TestSecondReconcileWritesNothing: at each stage, a second reconcile in a row sends no write.
func TestSecondReconcileWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconciler := w.direct(kubetest.Survive)
	w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
	stage := func(name string, most int) {
		t.Helper()
		before := len(w.writes())
		w.settle(reconciler, "run")
		first := w.writes()[before:]
		if len(first) == 0 || len(first) > most {
			t.Errorf("%s: %d writes, want 1 to %d: %+v", name, len(first), most, first)
		}
		for range 2 {
			if _, err := reconciler.Reconcile(t.Context(), w.request("run")); err != nil {
				t.Fatal(err)
			}
		}
		if again := w.writes()[before+len(first):]; len(again) > 0 {
			t.Errorf("%s: the reconciles after it sent %+v", name, again)
		}
	}
	stage("new", 4) // the finalizer, Running, the Job, its UID
	w.play(engine.KindJob, "run", jobActive)
	stage("active", 1)
	w.play(engine.KindJob, "run", jobDone)
	stage("done", 1)
}

// TestKillBetweenAnySteps: if the operator is killed before or after any of its writes, the next one finishes with the
// same result: the Job is created once, and deleted with the operation.
func TestKillBetweenAnySteps(t *testing.T) {
	t.Parallel()
	for kill := 1; ; kill++ {
		w := newWorld(t)
		reconciler := w.direct(kubetest.KillAt(kill))
		op := w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
		killed := w.settle(reconciler, "run")
		object, err := w.get(t.Context(), engine.KindJob, "run")
		if err != nil {
			t.Fatalf("kill at %d: %v", kill, err)
		}
		w.play(engine.KindJob, "run", jobDone)
		killed = w.settle(reconciler, "run") || killed
		done := w.reaches("run", opsv1alpha1.PhaseSucceeded, "Succeeded", "JobSucceeded")
		if done.Status.EngineRef.UID != string(object.GetUID()) {
			t.Errorf("kill at %d: the Job was created twice", kill)
		}
		if err := w.user.Delete(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		killed = w.settle(reconciler, "run") || killed
		if _, err := w.operation(t.Context(), "run"); !apierrors.IsNotFound(err) {
			t.Fatalf("kill at %d: the operation is still there: %v", kill, err)
		}
		if live, err := w.get(t.Context(), engine.KindJob, "run"); err == nil && live.GetDeletionTimestamp() == nil {
			t.Errorf("kill at %d: the Job outlives the operation", kill)
		}
		if !killed {
			if kill < 12 {
				t.Fatalf("only %d moments to be killed at", kill-1)
			}
			return
		}
	}
}

// TestConflictingOperationsTakeTurns: operations that exclude each other run one at a time, and all end by themselves.
func TestConflictingOperationsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	kinds := map[string]opsv1alpha1.OperationType{
		"a": opsv1alpha1.TypeBackup, "b": opsv1alpha1.TypeRestore, "c": opsv1alpha1.TypeBackup, "d": opsv1alpha1.TypeRestore,
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		parameters := ""
		if kinds[name] == opsv1alpha1.TypeRestore {
			parameters = `{"backupName":"x"}`
		}
		w.create(name, kinds[name], opsv1alpha1.EngineVelero, parameters)
	}
	left := map[string]bool{"a": true, "b": true, "c": true, "d": true}
	for len(left) > 0 {
		var next string
		kubetest.Eventually(w, "an operation that runs", func(ctx context.Context) error {
			backups, restores := 0, 0
			for name := range left {
				op, err := w.operation(ctx, name)
				if err != nil {
					return err
				}
				if !operation.Underway(op) {
					continue
				}
				if next = name; kinds[name] == opsv1alpha1.TypeBackup {
					backups++
				} else {
					restores++
				}
			}
			if backups > 0 && restores > 0 {
				t.Fatalf("%d backups and %d restores run", backups, restores)
			}
			if next == "" {
				return fmt.Errorf("none of %v runs", left)
			}
			return nil
		})
		kind := engine.KindBackup
		if kinds[next] == opsv1alpha1.TypeRestore {
			kind = engine.KindRestore
		}
		w.play(kind, next, `{"phase":"Completed"}`)
		kubetest.Eventually(w, "end of "+next, func(ctx context.Context) error {
			op, err := w.operation(ctx, next)
			if err == nil && op.Status.Phase != opsv1alpha1.PhaseSucceeded {
				err = fmt.Errorf("it is %s", op.Status.Phase)
			}
			return err
		})
		delete(left, next)
	}
}

// TestEndsByRequestAndByLoss: an annotation cancels, a deletion by someone else is a failure, and a foreign object is
// left alone.
func TestEndsByRequestAndByLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	w.create("cancelled", opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"workflowTemplate":"rotate"}`)
	w.play(engine.KindWorkflow, "cancelled", `{"phase":"Running"}`)
	w.reaches("cancelled", opsv1alpha1.PhaseRunning, "Running", "WorkflowInProgress")
	kubetest.Eventually(w, "annotation", func(ctx context.Context) error {
		op, err := w.operation(ctx, "cancelled")
		if err != nil {
			return err
		}
		op.Annotations = map[string]string{identity.AnnotationCancel: "yes"}
		return w.user.Update(ctx, op)
	})
	w.reaches("cancelled", opsv1alpha1.PhaseCancelled, "Cancelled", "UserCancelled")
	if _, err := w.get(t.Context(), engine.KindWorkflow, "cancelled"); !apierrors.IsNotFound(err) {
		t.Errorf("the Workflow of a cancelled operation: %v", err)
	}

	w.create("lost", opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"workflowTemplate":"rotate"}`)
	object := w.play(engine.KindWorkflow, "lost", `{"phase":"Running"}`)
	w.reaches("lost", opsv1alpha1.PhaseRunning, "Running", "WorkflowInProgress")
	if err := w.user.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.reaches("lost", opsv1alpha1.PhaseFailed, "Failed", "ExternalDeletion")

	foreign := object.DeepCopy()
	foreign.Object = map[string]any{"spec": map[string]any{"entrypoint": "main"}}
	foreign.SetGroupVersionKind(engine.KindWorkflow)
	foreign.SetNamespace(w.namespace)
	foreign.SetName("taken")
	if err := w.user.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	op := w.create("taken", opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"workflowTemplate":"rotate"}`)
	w.reaches("taken", opsv1alpha1.PhaseFailed, "Failed", "PreconditionFailed")
	if err := w.user.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	w.gone("taken")
	if live, err := w.get(t.Context(), engine.KindWorkflow, "taken"); err != nil ||
		live.GetResourceVersion() != foreign.GetResourceVersion() {
		t.Errorf("the object of something else was changed: %v", err)
	}

	// The API server refuses a variable with two values.
	w.create("invalid", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1","env":[{"name":"A","value":"x","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}`)
	w.reaches("invalid", opsv1alpha1.PhaseFailed, "Failed", "CreationRefused")
}

// TestKindsAppearLater: an operation waits for the kinds of its engine, and starts when they are installed.
func TestKindsAppearLater(t *testing.T) {
	t.Parallel()
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorldOn(t, server)
	w.operate()
	w.create("backup", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, "")
	w.reaches("backup", opsv1alpha1.PhasePending, "Blocked", "DependencyMissing")
	if err := server.Install(t.Context(), kubetest.Velero); err != nil {
		t.Fatal(err)
	}
	w.location(w.namespace)
	w.play(engine.KindBackup, "backup", `{"phase":"Completed"}`)
	w.reaches("backup", opsv1alpha1.PhaseSucceeded, "Succeeded", "VeleroBackupCompleted")
}
