package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// patience bounds one wait for Tend: a longer one is an error, not a figure.
const patience = 2 * time.Minute

// runLabel is the label of every container of a run, of Tend and of the raw side.
const runLabel = "tend-bench.run"

// deployment is one object of the Tend side.
type deployment struct {
	harness *harness
	name    string
	spec    api.DeploymentSpec
}

// deployment returns the next deployment; deploy stores it. It rolls out all pods at once, stop-first, without pause.
func (l *harness) deployment(replicas int) *deployment {
	l.turns++
	return &deployment{harness: l, name: fmt.Sprintf("t%d", l.turns), spec: api.DeploymentSpec{
		Container: api.Container{
			Image:  l.images[0],
			Labels: map[string]string{runLabel: l.id},
		},
		Replicas: &replicas,
		Strategy: &api.Strategy{Order: api.OrderStopFirst, MaxParallel: 1000, Pause: "0s", Monitor: "50ms"},
	}}
}

func (d *deployment) ref() api.Ref {
	return api.Ref{Kind: api.KindDeployment, Scope: "bench", Name: d.name}
}

// deploy applies the spec and waits until Tend reports all of it as running. It returns how long both took together.
func (d *deployment) deploy(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	generation, err := d.apply(ctx)
	if err != nil {
		return 0, err
	}
	err = d.await(ctx, "to run", func(status api.WorkloadStatus) bool {
		return status.ObservedGeneration >= generation && status.Ready == d.spec.ReplicaCount() &&
			status.Running == status.Ready
	})
	return time.Since(began), err
}

func (d *deployment) apply(ctx context.Context) (int64, error) {
	spec, err := json.Marshal(d.spec)
	if err != nil {
		return 0, err
	}
	ref := d.ref()
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}
	result, err := d.harness.server.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{object}})
	if err != nil {
		return 0, err
	}
	return result.Objects[0].Generation, nil
}

func (d *deployment) await(ctx context.Context, what string, holds func(api.WorkloadStatus) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %s for %s %s", patience, d.ref(), what))
	defer cancel()
	return d.harness.follow.until(ctx, d.name, func(object api.Object, found bool) bool {
		if !found {
			return false
		}
		status, err := api.DecodeStatus[api.WorkloadStatus](object)
		return err == nil && holds(status)
	})
}

// settle waits until the rollout is over: every slot was monitored for the time of the strategy.
func (d *deployment) settle(ctx context.Context) error {
	return d.await(ctx, "to settle", func(status api.WorkloadStatus) bool {
		return status.Rollout != nil && status.Rollout.Phase == api.RolloutComplete && status.Updated == d.spec.ReplicaCount()
	})
}

func (d *deployment) scaleTo(ctx context.Context, replicas int) (time.Duration, error) {
	d.spec.Replicas = &replicas
	return d.deploy(ctx)
}

// roll switches the deployment to the other image and waits until every live pod runs it and no pod the old one.
func (d *deployment) roll(ctx context.Context) (time.Duration, error) {
	if d.spec.Image == d.harness.images[0] {
		d.spec.Image = d.harness.images[1]
	} else {
		d.spec.Image = d.harness.images[0]
	}
	began := time.Now()
	generation, err := d.apply(ctx)
	if err != nil {
		return 0, err
	}
	var askFault error
	err = d.await(ctx, "to turn", func(status api.WorkloadStatus) bool {
		if status.ObservedGeneration < generation || status.Ready != d.spec.ReplicaCount() || status.Image != d.spec.Image {
			return false
		}
		turned, err := d.turned(ctx, status.Release)
		askFault = err
		return turned || err != nil
	})
	if askFault != nil {
		err = askFault
	}
	return time.Since(began), err
}

// turned reports whether every live pod runs the release and is ready.
func (d *deployment) turned(ctx context.Context, release string) (bool, error) {
	pods, err := d.pods(ctx)
	if err != nil || len(pods) != d.spec.ReplicaCount() {
		return false, err
	}
	for _, pod := range pods {
		if pod.Release != release || !pod.Ready {
			return false, nil
		}
	}
	return true, nil
}

// pods returns the deployment's pods that have not ended.
func (d *deployment) pods(ctx context.Context) ([]api.Pod, error) {
	listed, err := d.harness.server.client.Pods(ctx,
		client.PodFilter{Kind: api.KindDeployment, Scope: "bench", Name: d.name})
	if err != nil {
		return nil, err
	}
	var live []api.Pod
	for _, pod := range listed.Items {
		if pod.Live() {
			live = append(live, pod)
		}
	}
	return live, nil
}

// remove deletes the deployment and waits until it has gone with all its containers.
func (d *deployment) remove(ctx context.Context) error {
	_, err := d.delete(ctx)
	return err
}

func (d *deployment) delete(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if _, err := d.harness.server.client.Delete(ctx, d.ref()); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %s for %s to go", patience, d.ref()))
	defer cancel()
	err := d.harness.follow.until(ctx, d.name, func(_ api.Object, found bool) bool { return !found })
	return time.Since(began), err
}
