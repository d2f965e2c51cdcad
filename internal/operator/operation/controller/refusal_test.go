//go:build kube

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/operation/controller"
)

// liar returns a reconciler whose API server answers each creation of the operation's object with an error.
func (w *world) liar(answer func() error) *controller.Reconciler {
	w.Helper()
	r := w.direct(kubetest.Survive)
	_, plain := w.server.Stepwise(w, w.agent(), kubetest.Survive)
	r.Client = interceptor.NewClient(plain, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := answer(); err != nil {
				return err
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	return r
}

// warned returns an error unless an operation has a Warning Event with a reason and a part of its note.
func (w *world) warned(ctx context.Context, op *opsv1alpha1.Operation, reason, part string) error {
	var list eventsv1.EventList
	if err := w.user.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.UID == op.UID && e.Type == corev1.EventTypeWarning && e.Reason == reason &&
			strings.Contains(e.Note, part)
	}) {
		return fmt.Errorf("no Warning %s that says %q", reason, part)
	}
	return nil
}

// TestRefusalIsSaid: a condition and a Warning Event show the API server's answer to the creation of an operation's
// object. If the creation can't succeed, the operation ends. Otherwise it waits, starts when it can, and never seems to
// run.
func TestRefusalIsSaid(t *testing.T) {
	t.Parallel()
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, test := range map[string]struct {
		reason string
		answer error
		final  bool
	}{
		"forbidden": {"the operator has no right", apierrors.NewForbidden(jobs, "run", errors.New("not allowed")), true},
		"invalid":   {"a value is wrong", apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "run", nil), true},
		"namespace": {"no such namespace", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "velero"), true},
		"kind":      {"the kind went away", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Job"}}, true},
		"field":     {"the kind has no such field", apierrors.NewInternalError(errors.New(".spec.x: field not declared in schema")), true},
		"webhook":   {"a webhook is away", apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"silence":   {"no answer at all", errors.New("connection reset by peer"), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			answer := test.answer
			reconciler := w.liar(func() error { return answer })
			w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
			_, err := reconciler.Reconcile(t.Context(), w.request("run"))
			if (err == nil) != test.final {
				t.Fatalf("%s: the reconcile returned %v", test.reason, err)
			}
			op, err := w.operation(t.Context(), "run")
			if err != nil {
				t.Fatal(err)
			}
			kind, reason, event := "Blocked", "CreationFailed", "OperationBlocked"
			if test.final {
				kind, reason, event = "Failed", "CreationRefused", "OperationFailed"
			}
			c := meta.FindStatusCondition(op.Status.Conditions, kind)
			if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason ||
				!strings.Contains(c.Message, "Job "+w.namespace+"/run") {
				t.Errorf("%s: conditions %+v", test.reason, op.Status.Conditions)
			}
			if meta.IsStatusConditionTrue(op.Status.Conditions, "Running") || op.Status.Phase == opsv1alpha1.PhaseRunning {
				t.Errorf("%s: it seems to run: %+v", test.reason, op.Status)
			}
			if err := w.warned(t.Context(), op, event, "can't be created"); err != nil {
				t.Error(err)
			}
			if test.final {
				return
			}
			answer = nil
			w.settle(reconciler, "run")
			if _, err := w.get(t.Context(), engine.KindJob, "run"); err != nil {
				t.Errorf("%s: when the API server can again: %v", test.reason, err)
			}
			if op, _ := w.operation(t.Context(), "run"); meta.IsStatusConditionTrue(op.Status.Conditions, "Blocked") {
				t.Errorf("%s: it is still blocked: %+v", test.reason, op.Status.Conditions)
			}
		})
	}
}

// TestSnapshotClassOfABackup: a Velero Backup has no field for the class. Velero uses an annotation with the driver's
// name.
func TestSnapshotClassOfABackup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operate()
	w.create("b", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{"csiSnapshotClassName":"fast-`+w.namespace+`"}`)
	w.reaches("b", opsv1alpha1.PhasePending, "Blocked", "MissingVolumeSnapshotClass")
	w.apply("", `{"apiVersion":"snapshot.storage.k8s.io/v1","kind":"VolumeSnapshotClass","metadata":{"name":"fast-`+w.namespace+`"},
		"driver":"Disk.example.org","deletionPolicy":"Delete"}`)
	w.touch("b")
	object := w.play(engine.KindBackup, "b", `{"phase":"Completed"}`)
	if got := object.GetAnnotations()["velero.io/csi-volumesnapshot-class_disk.example.org"]; got != "fast-"+w.namespace {
		t.Errorf("annotations %v", object.GetAnnotations())
	}
	w.reaches("b", opsv1alpha1.PhaseSucceeded, "Succeeded", "VeleroBackupCompleted")
}

// touch causes a reconcile of the operation, whose obstacle is not watched.
func (w *world) touch(name string) {
	w.Helper()
	kubetest.Eventually(w, "a change of "+name, func(ctx context.Context) error {
		op, err := w.operation(ctx, name)
		if err != nil {
			return err
		}
		op.Annotations = map[string]string{"touched": fmt.Sprint(len(op.Annotations))}
		return w.user.Update(ctx, op)
	})
}

// TestVeleroIsFound: a backup is created in the namespace of Velero, which has a BackupStorageLocation. If that is
// ambiguous, nothing is created.
func TestVeleroIsFound(t *testing.T) {
	t.Parallel()
	server, err := kubetest.Start(kubetest.Tend, kubetest.Flux, kubetest.Velero)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorldOn(t, server) // creates one location, in its own namespace
	own := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "default"}}
	own.SetGroupVersionKind(engine.KindStorageLocation)
	if err := w.user.Delete(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	reconciler := w.direct(kubetest.Survive)
	message := func(name string) string {
		t.Helper()
		w.create(name, opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, "")
		if _, err := reconciler.Reconcile(t.Context(), w.request(name)); err != nil {
			t.Fatal(err)
		}
		op, err := w.operation(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if c := meta.FindStatusCondition(op.Status.Conditions, "Blocked"); c != nil && c.Status == metav1.ConditionTrue {
			return c.Reason + ": " + c.Message
		}
		return op.Status.EngineRef.Namespace + "/" + op.Status.EngineRef.Name
	}
	if got := message("none"); !strings.Contains(got, "DependencyMissing: no namespace has a BackupStorageLocation") {
		t.Errorf("without a location: %s", got)
	}
	velero, other := server.Namespace(t), server.Namespace(t)
	w.location(velero)
	if got := message("one"); got != velero+"/"+w.namespace+"--one" {
		t.Errorf("with one location: %s", got)
	}
	w.location(other)
	if got := message("two"); !strings.Contains(got, velero+", "+other) || !strings.Contains(got, "--velero-namespace") {
		t.Errorf("with two locations: %s", got)
	}
	w.settle(reconciler, "one") // a started operation keeps its namespace
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(engine.KindBackup)
	if err := w.user.Get(t.Context(), client.ObjectKey{Namespace: velero, Name: w.namespace + "--one"}, live); err != nil {
		t.Error(err)
	}
}

// TestEventsSurviveAKill: if an operator is killed after writing the status and before its Events, the next one writes
// each Event once. A condition that starts as False has one too.
func TestEventsSurviveAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
	// The calls are before and after the finalizer and the status.
	if _, err := w.direct(kubetest.KillAt(4)).Reconcile(t.Context(), w.request("run")); !errors.Is(err, kubetest.ErrKilled) {
		t.Fatalf("it was not killed: %v", err)
	}
	said := func() (all []string) {
		t.Helper()
		var list eventsv1.EventList
		if err := w.user.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, event := range list.Items {
			if event.Regarding.UID == op.UID {
				all = append(all, event.Reason)
			}
		}
		slices.Sort(all)
		return all
	}
	if all := said(); len(all) > 0 {
		t.Fatalf("the killed operator has written %v", all)
	}
	next := w.direct(kubetest.Survive)
	w.settle(next, "run")
	want := []string{"OperationAccepted", "OperationNotBlocked", "OperationNotRunning", "OperationNotSucceeded"}
	if all := said(); !slices.Equal(all, want) {
		t.Errorf("Events %v, want %v", all, want)
	}
	w.settle(w.direct(kubetest.Survive), "run") // another restart finds the Events
	if all := said(); !slices.Equal(all, want) {
		t.Errorf("after another restart: Events %v, want %v", all, want)
	}
}

// TestWhatAnOperationNeeds: without its service account an operation waits, and reports the command that creates it. A
// Job without a pod doesn't count as running.
func TestWhatAnOperationNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "vworkspace-operation-runner"}}
	if err := w.user.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	reconciler := w.direct(kubetest.Survive)
	w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1"}`)
	w.settle(reconciler, "run")
	op := w.reaches("run", opsv1alpha1.PhasePending, "Blocked", "RbacProfileMissing")
	if c := meta.FindStatusCondition(op.Status.Conditions, "Blocked"); !strings.Contains(c.Message, "kubectl create serviceaccount vworkspace-operation-runner -n "+w.namespace) {
		t.Errorf("the message is %q", c.Message)
	}
	if err := w.user.Create(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: account.Name},
	}); err != nil {
		t.Fatal(err)
	}
	w.settle(reconciler, "run")
	w.play(engine.KindJob, "run", `{"startTime":"2026-11-25T12:00:00Z","uncountedTerminatedPods":{}}`) // no controller makes its pods
	w.settle(reconciler, "run")
	if op, err := w.operation(t.Context(), "run"); err != nil || op.Status.Phase != opsv1alpha1.PhasePending ||
		meta.IsStatusConditionTrue(op.Status.Conditions, "Running") {
		t.Errorf("without a pod: %+v (%v)", op.Status, err)
	}
	w.play(engine.KindJob, "run", jobActive)
	w.settle(reconciler, "run")
	w.reaches("run", opsv1alpha1.PhaseRunning, "Running", "JobPodActive")
}

// TestAJobSaysWhyItFailed: the exit code comes from the pod, since the Job doesn't have it.
func TestAJobSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconciler := w.direct(kubetest.Survive)
	op := w.create("run", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob, `{"image":"busybox:1","backoffLimit":0}`)
	w.settle(reconciler, "run")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "run-abcde", Labels: map[string]string{"ops.vworkspace.io/operation": string(op.UID)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "busybox:1"}}},
	}
	if err := w.user.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	ended := &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "runner", State: corev1.ContainerState{Terminated: ended}},
	}}
	if err := w.player.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.play(engine.KindJob, "run", jobFailed)
	w.settle(reconciler, "run")
	done := w.reaches("run", opsv1alpha1.PhaseFailed, "Failed", "JobFailedBackoffExceeded")
	c := meta.FindStatusCondition(done.Status.Conditions, "Failed")
	if !strings.Contains(c.Message, "exited with code 3") || !strings.Contains(c.Message, "kubectl logs run-abcde") || w.output(done, "exitCode") != "3" {
		t.Errorf("%q, outputs %s", c.Message, done.Status.Outputs.Raw)
	}
}

// TestAControllerThatNeverAnswers: an operation whose engine never starts is not running, and ends at its timeout.
func TestAControllerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reconciler := w.direct(kubetest.Survive)
	began := time.Now()
	w.create("book", opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"workflowTemplate":"rotate"}`)
	w.settle(reconciler, "book")
	op, err := w.operation(t.Context(), "book")
	if err != nil || op.Status.Phase != opsv1alpha1.PhasePending || meta.IsStatusConditionTrue(op.Status.Conditions, "Running") {
		t.Fatalf("%+v (%v)", op.Status, err)
	}
	reconciler.Now = func() time.Time { return began.Add(24*time.Hour + 2*time.Minute) }
	w.settle(reconciler, "book")
	done := w.reaches("book", opsv1alpha1.PhaseFailed, "Failed", "Timeout")
	if c := meta.FindStatusCondition(done.Status.Conditions, "Failed"); !strings.Contains(c.Message, "Argo Workflows has not begun: does its controller run?") {
		t.Errorf("the message is %q", c.Message)
	}
}
