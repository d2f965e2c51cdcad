package engine

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Pod is what a pod of an operation's Job says. The Job itself knows how many pods failed, not why.
type Pod struct {
	// Name is the pod's name.
	Name string
	// Container is the one that Fault speaks of.
	Container string
	// Exited says that the container ended, with ExitCode. Else it can't start, and Fault says why.
	Exited   bool
	ExitCode int32
	// Fault is the reason and the message of Kubernetes; empty if there is nothing to say.
	Fault string
	// At orders the pods: the one that ended, or was created, last counts.
	At int64
}

// PodOf returns what a pod says of its containers: the first that ended badly, or that can't start.
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

// joined returns the reason with its message, if there is one.
func joined(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// String says what is wrong with the pod; empty if nothing is known to be.
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

// lastPod returns the newest of pods that have something to say.
func lastPod(pods []Pod) Pod {
	var last Pod
	for _, pod := range pods {
		if pod.String() != "" && (last.Name == "" || pod.At >= last.At) {
			last = pod
		}
	}
	return last
}
