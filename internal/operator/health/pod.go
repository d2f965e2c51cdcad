package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// stuck are the reasons for which a container waits without ever starting by itself.
var stuck = []string{"CreateContainerConfigError", "CreateContainerError", "InvalidImageName", "RunContainerError"}

// unpulled are the reasons of a container whose image can't be pulled. They take turns, so they count as one.
var unpulled = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull"}

func ofPodObject(live *unstructured.Unstructured) Health {
	pod, ok := as[corev1.Pod](live)
	if !ok {
		return unknown("its status can't be read")
	}
	return ofPod(pod)
}

// ofPod returns the health of a pod. A container that fails again and again has one message, whether it waits for its
// next start or has just begun: a message that took turns would be written each time.
func ofPod(pod *corev1.Pod) Health {
	switch {
	case pod.DeletionTimestamp != nil:
		return progressing("it is being deleted")
	case pod.Status.Phase == corev1.PodSucceeded:
		return healthy("it has completed")
	case pod.Status.Phase == corev1.PodFailed:
		return degraded(strings.TrimSuffix("it failed: "+cmp.Or(pod.Status.Message, pod.Status.Reason, failureOf(pod)), ": "))
	case isReady(pod):
		return healthy("it is ready")
	}
	if why := failureOf(pod); why != "" {
		return degraded(why)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return degraded("it can't be scheduled: " + c.Message)
		}
	}
	return progressing("it is not ready yet")
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// failureOf returns why a container of a pod fails, or an empty text.
func failureOf(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		why := ""
		switch waiting := c.State.Waiting; {
		case c.Ready:
		case waiting != nil && slices.Contains(unpulled, waiting.Reason):
			why = "the image " + c.Image + " can't be pulled"
		case waiting != nil && slices.Contains(stuck, waiting.Reason):
			why = waiting.Reason + ": " + waiting.Message
		default:
			why = exitOf(c)
		}
		if why != "" {
			return "container " + c.Name + ": " + why
		}
	}
	return ""
}

// exitOf returns how a container that isn't ready failed last, or an empty text.
func exitOf(c corev1.ContainerStatus) string {
	ended := c.State.Terminated
	ended = cmp.Or(ended, c.LastTerminationState.Terminated)
	if ended == nil || ended.ExitCode == 0 && c.State.Waiting == nil {
		return ""
	}
	if ended.Reason == "" || ended.Reason == "Error" || ended.Reason == "Completed" {
		return fmt.Sprintf("it ended with exit code %d", ended.ExitCode)
	}
	return fmt.Sprintf("it ended with exit code %d (%s)", ended.ExitCode, ended.Reason)
}

// WithPods returns the health of a workload that isn't healthy, with the cause that one of its pods shows.
func WithPods(of Health, pods []corev1.Pod) Health {
	if of.State != appsv1alpha1.HealthProgressing && of.State != appsv1alpha1.HealthDegraded {
		return of
	}
	pods = slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range pods {
		if is := ofPod(&pods[i]); is.State == appsv1alpha1.HealthDegraded {
			return degraded(of.Message + ". Pod " + pods[i].Name + ": " + is.Message)
		}
	}
	return of
}

// belongs reports whether a pod is of a workload. The ReplicaSet between a Deployment and a pod isn't read: it is
// recognized by its name, as the Deployment gives it.
func belongs(pod *corev1.Pod, workload *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	if workload.GroupVersionKind().GroupKind() != kindDeployment {
		return owner.UID == workload.GetUID()
	}
	hash := pod.Labels["pod-template-hash"]
	return owner.Kind == kindReplicaSet.Kind && hash != "" && owner.Name == workload.GetName()+"-"+hash
}
