package podlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api/pull"
)

// The bounds of an answer's words.
const (
	maxMessage = 400
	maxNotes   = 10
)

// Reader answers queries. All fields are required.
type Reader struct {
	// Live reads from the API server.
	Live client.Reader
	Open Opener
}

// Opener opens the output of a container.
type Opener func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)

// Through returns an Opener that asks the API server.
func Through(set kubernetes.Interface) Opener {
	return func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		return set.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	}
}

// refusal is the reason for no output at all.
type refusal struct {
	reason pull.RefusalReason
	text   string
}

func (r *refusal) Error() string { return r.text }

func notFound(format string, args ...any) error {
	return &refusal{pull.RefusedNotFound, fmt.Sprintf(format, args...)}
}

// Answer answers a query, whatever happens.
func (r *Reader) Answer(ctx context.Context, q pull.Query) pull.Answer {
	answer, err := r.read(ctx, q)
	if err == nil {
		return answer
	}
	var refused *refusal
	switch {
	case errors.As(err, &refused):
	case apierrors.IsForbidden(err):
		refused = &refusal{pull.RefusedNotEnabled, "the operator may not read logs: " + err.Error()}
	default:
		refused = &refusal{pull.RefusedFailed, err.Error()}
	}
	return pull.Answer{Refusal: &pull.Refusal{Reason: refused.reason, Message: short(refused.text)}}
}

func (r *Reader) read(ctx context.Context, q pull.Query) (pull.Answer, error) {
	tree, err := r.treeOf(ctx, q)
	if err != nil {
		return pull.Answer{}, err
	}
	pods, err := r.podsOf(ctx, q, tree)
	if err != nil {
		return pull.Answer{}, err
	}
	wanted, err := choose(q, pods)
	if err != nil {
		return pull.Answer{}, err
	}
	answer := pull.Answer{Notes: tree.notes()}
	if len(wanted) > pull.MaxOutputs {
		answer.Notes = append(answer.Notes, fmt.Sprintf("only %d of %d containers are shown; --pod chooses a pod, --container a container",
			pull.MaxOutputs, len(wanted)))
		wanted = wanted[:pull.MaxOutputs]
	}
	kept := &newest{}
	for i, container := range wanted {
		output := pull.Output{Pod: container.pod, Container: container.name, Error: container.waits}
		if output.Error == "" {
			lines, err := r.output(ctx, q, container, func(line pull.OutputLine) { kept.add(i, line) })
			if apierrors.IsForbidden(err) || err != nil && ctx.Err() != nil {
				return pull.Answer{}, fmt.Errorf("read the output of %s/%s: %w", container.pod, container.name, err)
			}
			if err != nil {
				output.Error = short(err.Error())
			}
			if lines == q.Tail && q.Tail == pull.MaxTail {
				answer.Notes = append(answer.Notes, fmt.Sprintf("%s/%s: only its last %d lines were read", container.pod, container.name, lines))
			}
		}
		answer.Outputs = append(answer.Outputs, output)
	}
	if len(answer.Notes) > maxNotes {
		answer.Notes = append(answer.Notes[:maxNotes-1], fmt.Sprintf("%d more notes are left out", len(answer.Notes)-maxNotes+1))
	}
	return answer, kept.into(&answer)
}

// container is one whose output is wanted.
type container struct {
	pod, name string
	// waits is the reason for no output yet.
	waits string
}

// choose returns the containers of pods that are wanted: all but those of inits that passed.
func choose(q pull.Query, pods []corev1.Pod) (wanted []container, err error) {
	var names []string
	for i := range pods {
		pod := &pods[i]
		inits := started(pod.Status.ContainerStatuses) == 0
		all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
		for at, status := range all {
			names = append(names, status.Name)
			isInit := at < len(pod.Status.InitContainerStatuses)
			switch {
			case q.Container != "" && q.Container != status.Name,
				q.Container == "" && isInit && (!inits || started(all[at:at+1]) == 0),
				q.Previous && status.LastTerminationState.Terminated == nil:
				continue
			}
			wanted = append(wanted, container{pod.Name, status.Name, waits(q, status)})
		}
	}
	slices.Sort(names)
	switch {
	case len(wanted) > 0:
		return wanted, nil
	case q.Container != "" && !slices.Contains(names, q.Container):
		return nil, notFound("no pod has a container %s; there is %s", q.Container, strings.Join(slices.Compact(names), ", "))
	case q.Previous:
		return nil, notFound("no container ran before those of now")
	}
	return nil, notFound("no container of the application's pods has been started yet")
}

// started counts the containers that run or ran.
func started(statuses []corev1.ContainerStatus) (n int) {
	for _, status := range statuses {
		if status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil {
			n++
		}
	}
	return n
}

// waits returns why a container has no output yet; "" if it has some.
func waits(q pull.Query, status corev1.ContainerStatus) string {
	if q.Previous || started([]corev1.ContainerStatus{status}) > 0 || status.State.Waiting == nil {
		return ""
	}
	waiting := status.State.Waiting
	return short(strings.TrimSuffix("it has not been started: "+waiting.Reason+": "+waiting.Message, ": "))
}

// podsOf returns the pods of the application, or the one that is asked for.
func (r *Reader) podsOf(ctx context.Context, q pull.Query, tree *tree) (pods []corev1.Pod, err error) {
	err = r.each(ctx, q, func(pod *corev1.Pod) error {
		is, err := tree.has(ctx, pod, "Pod", corev1.GroupName)
		if err == nil && is {
			pods = append(pods, *pod)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(pods) == 0 && q.Pod != "":
		return nil, notFound("namespace %s has no pod %s that belongs to what the chart made", q.Namespace, q.Pod)
	case len(pods) == 0:
		return nil, notFound("%s", strings.Join(append([]string{fmt.Sprintf(
			"namespace %s has no pod that belongs to what the chart made", q.Namespace)}, tree.notes()...), "; "))
	}
	return pods, nil
}

// each calls do with each pod of a query's namespace, or with the one that is asked for.
func (r *Reader) each(ctx context.Context, q pull.Query, do func(*corev1.Pod) error) error {
	if q.Pod != "" {
		pod := &corev1.Pod{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: q.Namespace, Name: q.Pod}, pod)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read pod %s: %w", q.Pod, err)
		}
		return do(pod)
	}
	for from := ""; ; {
		list := &corev1.PodList{}
		err := r.Live.List(ctx, list, client.InNamespace(q.Namespace), client.Limit(page), client.Continue(from))
		if err != nil {
			return fmt.Errorf("list the pods of namespace %s: %w", q.Namespace, err)
		}
		for i := range list.Items {
			if err := do(&list.Items[i]); err != nil {
				return err
			}
		}
		if from = list.Continue; from == "" {
			return nil
		}
	}
}

// page is the number of pods that are read at a time.
const page = 100

func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
}
