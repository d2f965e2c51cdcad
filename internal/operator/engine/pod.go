package engine

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Pod describes the end or fault of a pod of an operation's Job. The Job itself knows how many pods failed, but not
// why.
type Pod struct {
	// Name is the pod's name.
	Name string
	// Container is the container that Fault describes.
	Container string
	// Exited says that the container ended with ExitCode. Otherwise it can't start, and Fault says why.
	Exited   bool
	ExitCode int32
	// Fault is Kubernetes' reason and message; empty if there is no fault.
	Fault string
	// At orders the pods: the pod that was created or ended last counts.
	At int64
}

// PodOf returns the first container of a pod that failed or can't start.
func PodOf(pod *corev1.Pod) Pod {
	made := Pod{Name: pod.Name, At: pod.CreationTimestamp.Unix()}
	for _, status := range append(
		append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...,
	) {
		if ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated); ended != nil &&
			ended.ExitCode != 0 {
			made.Container, made.Exited, made.ExitCode = status.Name, true, ended.ExitCode
			made.Fault = cmp.Or(ended.Message, ended.Reason)
			made.At = max(made.At, ended.FinishedAt.Unix())
			return made
		}
		if held := status.State.Waiting; held != nil && held.Reason != "ContainerCreating" && held.Reason != "PodInitializing" {
			made.Container, made.Fault = status.Name, joined(held.Reason, held.Message)
			return made
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			made.Fault = joined(c.Reason, c.Message)
		}
	}
	if made.Fault == "" && pod.Status.Phase == corev1.PodFailed {
		made.Fault = joined(pod.Status.Reason, pod.Status.Message)
	}
	return made
}

// joined returns the reason and the message, if there is one.
func joined(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// String describes the pod's fault; empty if none is known.
func (p Pod) String() string {
	switch {
	case p.Exited && p.Fault != "" && p.Fault != "Error":
		return fmt.Sprintf("the container %s of the pod %s exited with code %d (%s)", p.Container, p.Name, p.ExitCode, p.Fault)
	case p.Exited:
		return fmt.Sprintf("the container %s of the pod %s exited with code %d", p.Container, p.Name, p.ExitCode)
	case p.Fault != "" && p.Container != "":
		return fmt.Sprintf("the container %s of the pod %s can't start: %s", p.Container, p.Name, p.Fault)
	case p.Fault != "":
		return fmt.Sprintf("the pod %s: %s", p.Name, p.Fault)
	}
	return ""
}

// lastPod returns the newest pod with a fault.
func lastPod(pods []Pod) Pod {
	var last Pod
	for _, pod := range pods {
		if pod.String() != "" && (last.Name == "" || pod.At >= last.At) {
			last = pod
		}
	}
	return last
}
