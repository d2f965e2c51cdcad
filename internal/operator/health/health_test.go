package health

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// parse returns an object as the API server has it: numbers are integers.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return live
}

const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d, generation: 2}, " +
	"spec: {replicas: 3, progressDeadlineSeconds: 600}, status: {observedGeneration: 2, "

// TestOf: each kind in each of its states.
func TestOf(t *testing.T) {
	for name, tc := range map[string]struct{ reason, object, want string }{
		"absent": {"what does not exist", "", "Missing: it does not exist"},
		"deleted": {"is on its way out, whatever its status says",
			"{apiVersion: v1, kind: Service, metadata: {deletionTimestamp: '2026-11-28T09:00:00Z'}}", "Progressing: it is being deleted"},
		"deployment": {"all replicas run", deployment + "replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, " +
			"conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}}",
			"Healthy: Deployment is available. Replicas: 3"},
		"deployment rolls out": {"one is not updated",
			deployment + "replicas: 3, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 3}}", "Progressing: Updated: 2/3"},
		"deployment failed": {"its deadline is over", deployment + "replicas: 3, updatedReplicas: 3, " +
			"conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: 'web-1 has timed out'}]}}",
			"Degraded: web-1 has timed out"},
		"deployment is stale": {"a status of an older generation says nothing", strings.Replace(deployment, "generation: 2", "generation: 3", 1) +
			"replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, " +
			"conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]}}",
			"Progressing: Deployment generation is 3, but latest observed generation is 2"},
		"statefulset waits": {"one is not ready", "{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2}, " +
			"status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}}", "Progressing: Ready: 1/2"},
		"statefulset by hand": {"a person replaces its pods; they must be ready all the same",
			"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2, updateStrategy: {type: OnDelete}}, " +
				"status: {observedGeneration: 1, replicas: 2, readyReplicas: 0}}", "Progressing: Ready: 0/2"},
		"statefulset of another": {"a status of an older generation says nothing of it either",
			"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 1, updateStrategy: {type: OnDelete}}, " +
				"status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}}",
			"Progressing: StatefulSet generation is 2, but latest observed generation is 1"},
		"daemonset": {"on every node", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, " +
			"desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2}}",
			"Healthy: All replicas scheduled as expected. Replicas: 2"},
		"daemonset waits": {"a pod is not available", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, " +
			"desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1, numberReady: 2}}",
			"Progressing: Available: 1/2"},
		"job is new": {"nothing has started", "{apiVersion: batch/v1, kind: Job}", "Progressing: Job not started"},
		"job runs": {"kstatus calls it current", "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-11-28T09:00:00Z', active: 1}}",
			"Progressing: it runs: 1 active, 0 succeeded, 0 failed"},
		"job ended": {"it has done its work", "{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}",
			"Healthy: it has completed"},
		"job failed": {"with its message",
			"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: too often}]}}",
			"Degraded: it failed: too often"},
		"job is suspended": {"nothing runs", "{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Suspended, status: 'True'}]}}",
			"Progressing: it is suspended"},
		"claim": {"has its volume", "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}", "Healthy: PVC is Bound"},
		"claim waits": {"has none yet", "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}",
			"Progressing: PVC is not Bound. phase: Pending"},
		"claim is lost": {"the volume is gone", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: pv-1}, status: {phase: Lost}}",
			"Degraded: its volume pv-1 is lost"},
		"service": {"needs nothing", "{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.1}}", "Healthy: Service is ready"},
		"load balancer waits": {"kstatus takes the cluster's address for its own",
			"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}", "Progressing: its load balancer has no address yet"},
		"load balancer": {"has an address", "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, " +
			"status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}", "Healthy: Service is ready"},
		"ingress waits": {"no controller serves it", "{apiVersion: networking.k8s.io/v1, kind: Ingress}",
			"Progressing: no ingress controller has published an address for it"},
		"ingress": {"is served", "{apiVersion: networking.k8s.io/v1, kind: Ingress, status: {loadBalancer: {ingress: [{hostname: lb}]}}}",
			"Healthy: Resource is current"},
		"ready":     {"a condition of any kind", "{apiVersion: a.b/v1, kind: K, status: {conditions: [{type: Ready, status: 'True'}]}}", "Healthy: Resource is Ready"},
		"not ready": {"with its message", "{apiVersion: a.b/v1, kind: K, status: {conditions: [{type: Ready, status: 'False', message: waits for a}]}}", "Progressing: waits for a"},
		"stalled":   {"it has given up", "{apiVersion: a.b/v1, kind: K, status: {conditions: [{type: Stalled, status: 'True', message: no way}]}}", "Degraded: no way"},
		"abnormal":  {"it says so itself", "{apiVersion: a.b/v1, kind: K, status: {conditions: [{type: Degraded, status: 'True', reason: Broken}]}}", "Degraded: Broken"},
		"silent":    {"no condition: it is there", "{apiVersion: a.b/v1, kind: K}", "Healthy: Resource is current"},
		"odd": {"conditions of another form", "{apiVersion: a.b/v1, kind: K, status: {conditions: none}}",
			"Unknown: its status can't be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			var live *unstructured.Unstructured
			if tc.object != "" {
				live = parse(t, tc.object)
			}
			is := Of(live)
			got := string(is.State) + ": " + is.Message
			if got != tc.want && (is.State != appsv1alpha1.HealthUnknown || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOfPods: a pod, and the message that stays the same while a container fails again and again.
func TestOfPods(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, status: "
	const fails = "Degraded: container app: it ended with exit code 1"
	for name, tc := range map[string]struct{ reason, status, want string }{
		"ready": {"it serves", "{phase: Running, conditions: [{type: Ready, status: 'True'}], " +
			"containerStatuses: [{name: app, ready: true, lastState: {terminated: {exitCode: 1}}}]}", "Healthy: it is ready"},
		"starts":    {"nothing failed yet", "{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}", "Progressing: it is not ready yet"},
		"completed": {"its work is done", "{phase: Succeeded}", "Healthy: it has completed"},
		"evicted":   {"kstatus calls it current", "{phase: Failed, reason: Evicted, message: no memory}", "Degraded: it failed: no memory"},
		"failed": {"the exit code", "{phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3}}}]}",
			"Degraded: it failed: container app: it ended with exit code 3"},
		"crash loop": {"while it waits", "{phase: Running, containerStatuses: [{name: app, " +
			"state: {waiting: {reason: CrashLoopBackOff, message: back-off 20s}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}", fails},
		"crash loop, runs":  {"the same words while it runs", "{phase: Running, containerStatuses: [{name: app, state: {running: {}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}", fails},
		"crash loop, ended": {"and when it has just ended", "{phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 1, reason: Error}}}]}", fails},
		"out of memory": {"the kernel's reason", "{phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}",
			"Degraded: container app: it ended with exit code 137 (OOMKilled)"},
		"no image":    {"one of two reasons that take turns", "{phase: Pending, containerStatuses: [{name: app, image: a:1, state: {waiting: {reason: ErrImagePull}}}]}", "Degraded: container app: the image a:1 can't be pulled"},
		"no image, 2": {"and the other one", "{phase: Pending, containerStatuses: [{name: app, image: a:1, state: {waiting: {reason: ImagePullBackOff}}}]}", "Degraded: container app: the image a:1 can't be pulled"},
		"config": {"what it needs is not there", "{phase: Pending, initContainerStatuses: [{name: init, state: {waiting: {reason: CreateContainerConfigError, message: 'secret \"s\" not found'}}}]}",
			`Degraded: container init: CreateContainerConfigError: secret "s" not found`},
		"unschedulable": {"with the scheduler's message", "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}]}",
			"Degraded: it can't be scheduled: 0/3 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			is := Of(parse(t, pod+tc.status+"}"))
			if got := string(is.State) + ": " + is.Message; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWithPods: a pod's failure is its workload's, if that isn't healthy itself. The first by name counts.
func TestWithPods(t *testing.T) {
	of := func(name string, code int32) (pod corev1.Pod) {
		pod.Name = name
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app"}}
		if code != 0 {
			pod.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
		}
		return pod
	}
	pods := []corev1.Pod{of("c", 2), of("b", 1), of("a", 0)}
	for in, want := range map[Health]Health{
		progressing("Ready: 0/3"): degraded("Ready: 0/3. Pod b: container app: it ended with exit code 1"),
		healthy("fine"):           healthy("fine"),
		unknown("no right"):       unknown("no right"),
	} {
		if got := WithPods(in, pods); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
	if got := WithPods(progressing("Ready: 0/1"), pods[2:]); got != progressing("Ready: 0/1") {
		t.Errorf("no pod failed: %v", got)
	}
}

// TestMessagesAreBounded: a cluster's message is one line, cut at a whole character.
func TestMessagesAreBounded(t *testing.T) {
	got := degraded("a\n b " + strings.Repeat("ä", 500)).Message
	if len(got) > maxMessage || !strings.HasPrefix(got, "a b ä") || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestWorst: what matters most comes first.
func TestWorst(t *testing.T) {
	for want, states := range map[appsv1alpha1.Health][]appsv1alpha1.Health{
		"":                             nil,
		appsv1alpha1.HealthHealthy:     {appsv1alpha1.HealthHealthy},
		appsv1alpha1.HealthUnknown:     {appsv1alpha1.HealthHealthy, appsv1alpha1.HealthUnknown},
		appsv1alpha1.HealthProgressing: {appsv1alpha1.HealthUnknown, appsv1alpha1.HealthProgressing},
		appsv1alpha1.HealthMissing:     {appsv1alpha1.HealthMissing, appsv1alpha1.HealthProgressing},
		appsv1alpha1.HealthDegraded:    {appsv1alpha1.HealthMissing, appsv1alpha1.HealthDegraded, appsv1alpha1.HealthHealthy},
	} {
		if got := Worst(states...); got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	}
}
