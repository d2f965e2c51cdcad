//go:build kube

package link_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestHealthOfAnApplication: Tend shows the health of what a chart made as the API server has it. Without the optional
// role it is Unknown, and the message names the role. With it, a pod that crashes makes its Deployment Degraded.
func TestHealthOfAnApplication(t *testing.T) {
	w := emptyWorld(t)
	w.confine()
	w.operate()
	w.connect()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.installs()
	w.crashes()
	ids := []string{w.namespace + "_web_apps_Deployment", w.namespace + "_web__Service"}
	w.inventories("web", ids...)
	w.tend.says("without the role", object, func(status api.DeliveredStatus) bool {
		deployment, service := healthOf(status, "Deployment"), healthOf(status, "Service")
		return status.Health == api.ClusterUnknown &&
			deployment == "Unknown: the operator may not get deployments.apps (role tend-operator-health)" &&
			service == "Unknown: the operator may not get services (role tend-operator-health)"
	})
	operator := w.allow("health")
	kubetest.Eventually(t, "the role for health", func(ctx context.Context) error {
		return operator.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "web"}, &appsv1.Deployment{})
	})
	w.inventories("web", append(ids, w.namespace+"_web__ConfigMap")...) // another report, so the objects are read soon
	w.tend.says("with a pod that crashes", object, func(status api.DeliveredStatus) bool {
		deployment := healthOf(status, "Deployment")
		return status.Health == api.ClusterDegraded && healthOf(status, "Service") == "Healthy: " &&
			strings.HasPrefix(deployment, "Degraded: ") &&
			strings.HasSuffix(deployment, ". Pod web-1-a: container app: it ended with exit code 3")
	})
}

// healthOf returns the health and message of a chart's object of a kind, as Tend shows them.
func healthOf(status api.DeliveredStatus, kind string) string {
	for _, object := range status.Objects {
		if object.Kind == kind {
			return fmt.Sprintf("%s: %s", object.Health, object.Message)
		}
	}
	return "not listed"
}

// crashes makes the objects of a chart: a Service, and a Deployment with one pod whose container crashes. It stands in
// for the controllers of Kubernetes and the kubelet, which don't run here.
func (w *world) crashes() {
	w.Helper()
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "a"}}},
	}
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{"app": "web"}}
	}
	deployment := &appsv1.Deployment{ObjectMeta: named("web"),
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
	set := &appsv1.ReplicaSet{ObjectMeta: named("web-1"),
		Spec: appsv1.ReplicaSetSpec{Selector: deployment.Spec.Selector, Template: template}}
	pod := &corev1.Pod{ObjectMeta: named("web-1-a"), Spec: template.Spec}
	pod.Labels["pod-template-hash"] = "1"
	service := &corev1.Service{ObjectMeta: named("web"), Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}}
	for _, object := range []client.Object{service, deployment, set, pod} {
		switch object {
		case set:
			set.OwnerReferences = []metav1.OwnerReference{
				*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")),
			}
		case pod:
			pod.OwnerReferences = []metav1.OwnerReference{
				*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
			}
		}
		if err := w.user.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, UnavailableReplicas: 1,
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "app", Image: "a", RestartCount: 4, LastTerminationState: ended,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}}}
	for _, object := range []client.Object{deployment, pod} {
		if err := w.user.Status().Update(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

// allow gives a confined operator an optional role as shipped, and returns a client with the operator's rights.
func (w *world) allow(optional string) client.Client {
	w.Helper()
	text, err := os.ReadFile("../../../deploy/operator/" + optional + "/role.yaml")
	if err != nil {
		w.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "apiVersion")
	documents := strings.Split("apiVersion"+rest, "\n---\n")
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	if len(documents) != 2 ||
		yaml.UnmarshalStrict([]byte(documents[0]), role) != nil ||
		yaml.UnmarshalStrict([]byte(documents[1]), binding) != nil {
		w.Fatalf("the role for %s has %d documents, want a ClusterRole and its binding", optional, len(documents))
	}
	name := w.namespace + "-" + optional
	role.Name, binding.Name, binding.RoleRef.Name = name, name, name
	binding.Subjects[0].Namespace = w.namespace
	for _, object := range []client.Object{role, binding} {
		if err := w.user.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
	operator, err := client.New(w.connection, client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		w.Fatal(err)
	}
	return operator
}
