package engine

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// TestPodsSayWhyAJobFailed: a Job shows which of its limits was reached, its pods show what went wrong.
func TestPodsSayWhyAJobFailed(t *testing.T) {
	pod := func(name string, status corev1.PodStatus) Pod {
		return PodOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: status})
	}
	exited := func(code int32, reason string, at int64) corev1.PodStatus {
		ended := &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.Unix(at, 0)}
		return corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "runner", State: corev1.ContainerState{Terminated: ended}},
		}}
	}
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "runner", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}}}
	}
	failure := map[string]any{"failed": int64(2), "conditions": []any{map[string]any{
		"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit",
	}}}
	active := map[string]any{"startTime": "2026-11-25T03:00:00Z", "active": int64(1)}
	for name, test := range map[string]struct {
		reason  string
		status  map[string]any
		pods    []Pod
		message string
		code    string
	}{
		"the last exit": {"of several pods the last one counts", failure, []Pod{pod("run-a", exited(1, "Error", 10)), pod("run-b", exited(3, "Error", 20))},
			"the container runner of the pod run-b exited with code 3; pods that failed: 2. Its log: kubectl logs run-b -n prod", "3"},
		"killed": {"a reason that says more is told", failure, []Pod{pod("run-a", exited(137, "OOMKilled", 10))},
			"the container runner of the pod run-a exited with code 137 (OOMKilled); pods that failed: 2. Its log: kubectl logs run-a -n prod", "137"},
		"no pods":    {"without them the Job's own words are left", failure, nil, "Job has reached the specified backoff limit", ""},
		"no image":   {"a pod that can't start says why", active, []Pod{pod("run-a", waiting("ImagePullBackOff", "no such image"))}, "the container runner of the pod run-a can't start: ImagePullBackOff: no such image", ""},
		"being made": {"creating the container isn't a fault", active, []Pod{pod("run-a", waiting("ContainerCreating", ""))}, "the Job's pod is active, and is not ready yet", ""},
		"no node": {"a pod without a node says why", active, []Pod{pod("run-a", corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node has 64Gi"},
		}})}, "the pod run-a: Unschedulable: no node has 64Gi", ""},
		"between two": {"a pod failed, the next is not there yet", map[string]any{"failed": int64(1)}, []Pod{pod("run-a", exited(2, "Error", 10))},
			"no pod of the Job is active now: the container runner of the pod run-a exited with code 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			observed := &unstructured.Unstructured{Object: map[string]any{"status": test.status}}
			observed.SetNamespace("prod")
			observed.SetName("run")
			p := job{}.Observe(Request{Pods: test.pods}, observed)
			if p.Message != test.message || p.Outputs["exitCode"] != test.code {
				t.Errorf("%s: %s\ngot  %s (%s)\nwant %s (%s)", name, test.reason, p.Message, p.Outputs["exitCode"], test.message, test.code)
			}
		})
	}
}

// TestNeeds: the parameters determine what must exist before the start.
func TestNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		reason     string
		kind       opsv1alpha1.OperationType
		engine     opsv1alpha1.Engine
		parameters string
		want       []string
	}{
		"job": {"its account, and the Secrets of its variables that are not optional", opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob,
			`{"image":"a","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"B","valueFrom":{"secretKeyRef":{"name":"o","key":"k","optional":true}}}]}`,
			[]string{"Secret s", "ServiceAccount vworkspace-operation-runner"}},
		"workflow": {"its account and its template", opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow, `{"template":"rotate"}`,
			[]string{"ServiceAccount vworkspace-operation-runner", "WorkflowTemplate rotate"}},
		"velero":   {"the class that it names", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, `{"snapshotClassName":"fast"}`, []string{"VolumeSnapshotClass fast"}},
		"restore":  {"a restore has no class", opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero, `{"backupName":"b"}`, nil},
		"volsync":  {"the volume and the repository", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVolSync, `{"source":{"sourcePVC":"d"},"repository":{"secretName":"r"}}`, []string{"PersistentVolumeClaim d", "Secret r"}},
		"helm":     {"nothing", opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm, `{"targetVersion":"2.0.0"}`, nil},
		"unread":   {"what can't be read names nothing", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVolSync, `{"pvc":1}`, nil},
		"hook job": {"the chart's own account", opsv1alpha1.TypeMigration, opsv1alpha1.EngineHelmHookJob, `{"hookName":"m"}`, nil},
	} {
		op := &opsv1alpha1.Operation{Spec: opsv1alpha1.OperationSpec{
			Type: test.kind, Engine: test.engine, Parameters: &runtime.RawExtension{Raw: []byte(test.parameters)},
		}}
		var got []string
		for _, need := range Needs(op) {
			got = append(got, need.Kind+" "+need.Name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %s: got %v, want %v", name, test.reason, got, test.want)
		}
	}
}

// TestTimeout: by default an operation has a day, and a scheduled replication no limit.
func TestTimeout(t *testing.T) {
	for parameters, want := range map[string]time.Duration{
		``: 24 * time.Hour, `{}`: 24 * time.Hour, `{"timeoutSeconds":60}`: time.Minute, `{"timeoutSeconds":0}`: 0,
		`{"activeDeadlineSeconds":120}`: 2 * time.Minute, `{"activeDeadlineSeconds":120,"timeoutSeconds":60}`: time.Minute,
		`{"schedule":"@daily"}`: 0, `{"schedule":"@daily","timeoutSeconds":60}`: time.Minute,
	} {
		op := &opsv1alpha1.Operation{}
		if parameters != "" {
			op.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
		}
		if got := Timeout(op); got != want {
			t.Errorf("%s: %s, want %s", parameters, got, want)
		}
	}
}

// TestVeleroNamespace: Velero works where a BackupStorageLocation is.
func TestVeleroNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		reason, want string
		locations    []string
	}{
		"own":     {"one in the operation's namespace comes first", "prod", []string{"velero", "prod"}},
		"one":     {"the only one", "velero", []string{"velero", "velero"}},
		"none":    {"nothing to store in", "", nil},
		"several": {"a person must say", "", []string{"a", "b"}},
	} {
		got, err := VeleroNamespace("prod", test.locations)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %s: %q, %v", name, test.reason, got, err)
		}
	}
}
