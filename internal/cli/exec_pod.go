package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// podToEnter returns the pod to run a command in, and says on stderr which one it is where several run.
func (a *app) podToEnter(ctx context.Context, c *client.Client, wanted address) (string, error) {
	if wanted.pod != "" {
		return wanted.pod, nil
	}
	pods, err := podsOf(ctx, c, wanted)
	if err != nil {
		return "", err
	}
	chosen, of := choosePod(pods)
	if newest := newestOf(pods); of == 0 && newest != nil {
		return "", fmt.Errorf("%s isn't running: %s\n  tend logs %s", newest.Name, podState(*newest), wanted)
	}
	if of == 0 {
		return "", noPod(ctx, c, wanted)
	}
	if of > 1 {
		fmt.Fprintf(a.err, "note: in %s, one of %d pods that run\n", chosen.Name, of)
	}
	return chosen.Name, nil
}

// noPod returns the error of an object without a pod that runs, with the cause if the object's status has one.
func noPod(ctx context.Context, c *client.Client, wanted address) error {
	none := fmt.Sprintf("no pod of %s runs", wanted)
	if ref, err := resolve(ctx, c, wanted); err == nil {
		if object, err := c.Object(ctx, ref); err == nil {
			if why := idle(object); why != "" {
				return errors.New(why)
			}
			var status api.WorkloadStatus
			_ = json.Unmarshal(object.Status, &status) // of what has none, the state says so
			if state, message := stateOf(object, status); message != "" {
				none += ": " + state + ": " + message
			}
		}
	}
	return fmt.Errorf("%s\n  tend describe %s", none, wanted)
}

// choosePod returns the pod of an object to run a command in, and how many run: the lowest ordinal of a statefulset,
// whose first pod is often its primary; of other objects the newest that is ready, else the newest.
func choosePod(pods []api.Pod) (chosen api.Pod, of int) {
	running := slices.DeleteFunc(slices.Clone(pods),
		func(pod api.Pod) bool { return !pod.Live() || pod.State != api.TaskRunning })
	if len(running) == 0 {
		return api.Pod{}, 0
	}
	return slices.MinFunc(running, firstToEnter), len(running)
}

func firstToEnter(x, y api.Pod) int {
	one, ofOne := ordinalOf(x)
	two, ofTwo := ordinalOf(y)
	return cmp.Or(ofOne-ofTwo, cmp.Compare(one, two), isReady(y)-isReady(x), y.CreatedAt.Compare(x.CreatedAt))
}

// ordinalOf returns a pod's ordinal; none is 1 for a pod that has no ordinal, such as that of a release command.
func ordinalOf(pod api.Pod) (ordinal, none int) {
	n, err := strconv.Atoi(pod.Slot)
	if pod.Kind != api.KindStatefulSet || pod.Role != api.RoleMain || err != nil {
		return 0, 1
	}
	return n, 0
}

func isReady(pod api.Pod) int {
	if pod.Ready {
		return 1
	}
	return 0
}

// newestOf returns the newest pod that is wanted; nil if none is.
func newestOf(pods []api.Pod) *api.Pod {
	var newest *api.Pod
	for i, pod := range pods {
		if pod.Desired == api.DesiredRunning && pod.Role == api.RoleMain &&
			(newest == nil || pod.CreatedAt.After(newest.CreatedAt)) {
			newest = &pods[i]
		}
	}
	return newest
}
