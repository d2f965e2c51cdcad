package main

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/moby/api/types/swarm"
	engine "github.com/moby/moby/client"
)

// servicePoll is the interval of polling Swarm's tasks, for which it has no stream.
const servicePoll = 15 * time.Millisecond

// service is a service of Swarm.
type service struct {
	harness *harness
	id      string
	spec    swarm.ServiceSpec
}

// newService creates a service and waits until all its tasks run, timed.
func (l *harness) newService(ctx context.Context, replicas uint64) (*service, time.Duration, error) {
	l.turns++
	noDelay := time.Duration(0)
	update := &swarm.UpdateConfig{Parallelism: 0, Monitor: time.Millisecond, Order: swarm.UpdateOrderStopFirst}
	s := &service{harness: l, spec: swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: fmt.Sprintf("tend-bench-%s-%d", l.id, l.turns)},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: &swarm.ContainerSpec{Image: l.images[0], Labels: map[string]string{runLabel: l.id}},
			RestartPolicy: &swarm.RestartPolicy{Condition: swarm.RestartPolicyConditionAny, Delay: &noDelay},
			Networks:      []swarm.NetworkAttachmentConfig{{Target: l.swarmNetwork()}},
			LogDriver:     &swarm.Driver{Name: "json-file", Options: l.raw.host.LogConfig.Config},
		},
		Mode:         swarm.ServiceMode{Replicated: &swarm.ReplicatedService{Replicas: &replicas}},
		UpdateConfig: update,
		EndpointSpec: &swarm.EndpointSpec{Mode: swarm.ResolutionModeDNSRR}, // Swarm's own load balancing needs IPVS
	}}
	began := time.Now()
	created, err := l.engine.ServiceCreate(ctx, engine.ServiceCreateOptions{Spec: s.spec})
	if err != nil {
		return nil, 0, err
	}
	s.id = created.ID
	err = s.await(ctx)
	return s, time.Since(began), err
}

// await waits until the wanted number of tasks run the wanted image, and no task runs another.
func (s *service) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited %s for service %s", patience, s.id))
	defer cancel()
	return every(ctx, servicePoll, func() (bool, error) {
		tasks, err := s.harness.engine.TaskList(ctx, engine.TaskListOptions{
			Filters: make(engine.Filters).Add("service", s.id).Add("desired-state", "running"),
		})
		if err != nil {
			return false, err
		}
		running := 0
		for _, task := range tasks.Items {
			if task.Status.State != swarm.TaskStateRunning ||
				task.Spec.ContainerSpec.Image != s.spec.TaskTemplate.ContainerSpec.Image {
				return false, nil
			}
			running++
		}
		return running == int(*s.spec.Mode.Replicated.Replicas), nil
	})
}

func (s *service) scale(ctx context.Context, replicas uint64) (time.Duration, error) {
	s.spec.Mode.Replicated = &swarm.ReplicatedService{Replicas: &replicas}
	return s.change(ctx)
}

func (s *service) update(ctx context.Context, image string) (time.Duration, error) {
	container := *s.spec.TaskTemplate.ContainerSpec
	container.Image = image
	s.spec.TaskTemplate.ContainerSpec = &container
	return s.change(ctx)
}

func (s *service) change(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	current, err := s.harness.engine.ServiceInspect(ctx, s.id, engine.ServiceInspectOptions{})
	if err != nil {
		return 0, err
	}
	_, err = s.harness.engine.ServiceUpdate(ctx, s.id,
		engine.ServiceUpdateOptions{Version: current.Service.Version, Spec: s.spec})
	if err != nil {
		return 0, err
	}
	err = s.await(ctx)
	return time.Since(began), err
}

// remove waits for the containers too: Swarm removes them after the service.
func (s *service) remove(ctx context.Context) error {
	if _, err := s.harness.engine.ServiceRemove(ctx, s.id, engine.ServiceRemoveOptions{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("waited %s for the containers of service %s to go", patience, s.id))
	defer cancel()
	return every(ctx, servicePoll, func() (bool, error) {
		left, err := s.harness.engine.ContainerList(ctx, engine.ContainerListOptions{
			All: true, Filters: make(engine.Filters).Add("label", "com.docker.swarm.service.id="+s.id),
		})
		return err == nil && len(left.Items) == 0, err
	})
}

// every polls until holds returns true.
func every(ctx context.Context, pause time.Duration, holds func() (bool, error)) error {
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		if yes, err := holds(); yes || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
