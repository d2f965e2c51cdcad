package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

func podListing(pods []api.Pod, now time.Time) listing {
	l := listing{
		header:     []string{"POD", "READY", "STATE", "RELEASE", "STARTS", "PORTS", "AGE"},
		wideHeader: []string{"NODE", "IMAGE", "ADDRESS", "RECORD", "MESSAGE"},
		narrow:     narrowing{drop: []string{"STARTS", "AGE", "PORTS", "NODE", "RELEASE"}, squeeze: []string{"STATE"}},
	}
	several := slices.ContainsFunc(pods, func(p api.Pod) bool { return p.Node != pods[0].Node })
	if several { // then it matters
		l.header, l.wideHeader = append(l.header, l.wideHeader[0]), l.wideHeader[1:]
	}
	for _, pod := range pods {
		l.names = append(l.names, pod.Name)
		l.rows = append(l.rows, []string{
			pod.Name, readyText(pod), podState(pod), podRelease(pod), fmt.Sprint(pod.Incarnations), portText(pod.Ports),
			age(pod.CreatedAt, now),
		})
		message, _, _ := strings.Cut(pod.Message, "\n")
		row := []string{dash(pod.Node), dash(pod.Image), dash(pod.Address), pod.Task, dash(message)}
		if several {
			last := len(l.rows) - 1
			l.rows[last], row = append(l.rows[last], row[0]), row[1:]
		}
		l.wideRows = append(l.wideRows, row)
	}
	return l
}

// podRelease returns the release of a pod. Beside it stands the one that it is updated to, or that it runs already.
func podRelease(pod api.Pod) string {
	switch {
	case pod.Target == "":
		return dash(pod.Release)
	case pod.Outdated:
		return pod.Release + " → " + pod.Target
	}
	return pod.Release + " = " + pod.Target
}

// readyText returns the text of a pod's READY column. A pod that ended as intended is neither ready nor unready.
func readyText(pod api.Pod) string {
	switch {
	case pod.Ready:
		return "yes"
	case pod.State.Terminal() && (pod.Run != "" || pod.Role != "" || pod.State == api.TaskShutdown ||
		pod.State == api.TaskComplete):
		return "-"
	}
	return "no"
}

// podState returns the state with what a person should know of it.
func podState(pod api.Pod) string {
	switch {
	case pod.Frozen && pod.State.Terminal():
		return "stopped (frozen)"
	case pod.Frozen:
		return "stopping (frozen)"
	case pod.State.Terminal():
		return endText(pod)
	case pod.Desired != api.DesiredRunning:
		return "stopping"
	case pod.CrashLoop:
		return "crash loop" + exitText(pod)
	case !pod.Ready && pod.Reason != "":
		return string(pod.State) + " (" + pod.Reason + ")"
	}
	return string(pod.State)
}

// endText returns how a pod ended.
func endText(pod api.Pod) string {
	switch {
	case pod.State == api.TaskRejected && pod.Reason != "":
		return "rejected (" + pod.Reason + ")"
	case pod.State == api.TaskFailed:
		return "failed" + exitText(pod)
	}
	return string(pod.State)
}

func exitText(pod api.Pod) string {
	switch {
	case pod.OOMKilled:
		return " (OOMKilled)"
	case pod.ExitCode != nil:
		return fmt.Sprintf(" (exit %d)", *pod.ExitCode)
	}
	return ""
}

func portText(ports []api.PortBinding) string {
	var out []string
	for _, port := range ports {
		if port.HostPort > 0 {
			out = append(out, fmt.Sprintf("%s:%d->%d", port.HostIP, port.HostPort, port.Container))
		}
	}
	return dash(strings.Join(out, ","))
}
