package hollow

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
)

// EnsureVolume implements runtime.Runtime.
func (r *Runtime) EnsureVolume(ctx context.Context, name string, labels map[string]string) error {
	if err := r.begin(ctx, "ensurevolume", name); err != nil {
		return err
	}
	labels = r.volumeLabels(labels)
	return r.inspect(ctx, func(e *Engine) error {
		if _, there := e.volumes[name]; !there {
			e.volumes[name] = labels
		}
		return runtime.CheckVolume(name, e.volumes[name], labels)
	})
}

// volumeLabels adds the cluster to the labels of a claim, as the docker runtime does.
func (r *Runtime) volumeLabels(claim map[string]string) map[string]string {
	labels := map[string]string{api.LabelCluster: r.cluster}
	maps.Copy(labels, claim)
	return labels
}

// OlderVolume returns the predecessor's volume of a claim, as the docker runtime does.
func (r *Runtime) OlderVolume(ctx context.Context, name string) (older string, err error) {
	err = r.inspect(ctx, func(e *Engine) error {
		rest, ours := strings.CutPrefix(name, "tend-")
		_, made := e.volumes[name]
		if _, there := e.volumes["voodu-"+rest]; ours && there && !made {
			older = "voodu-" + rest
		}
		return nil
	})
	return older, err
}

// RemoveVolume implements runtime.Runtime.
func (r *Runtime) RemoveVolume(ctx context.Context, name string, labels map[string]string) error {
	if err := r.begin(ctx, "removevolume", name); err != nil {
		return err
	}
	return r.inspect(ctx, func(e *Engine) error {
		if err := runtime.CheckRemoval(name, e.volumes[name], r.volumeLabels(labels)); err != nil {
			return err
		}
		for _, c := range e.sortedLocked() {
			for _, mount := range c.spec.Spec.Volumes {
				if strings.HasPrefix(mount, name+":") {
					return fmt.Errorf("volume %s is in use by container %s", name, c.name)
				}
			}
		}
		delete(e.volumes, name)
		return nil
	})
}

// SecondWriter implements runtime.Neighbours.
func (r *Runtime) SecondWriter(
	ctx context.Context, spec api.DeploymentSpec,
) (writer volumes.Writer, found bool, err error) {
	if len(volumes.Written(spec)) == 0 {
		return writer, false, nil
	}
	err = r.inspect(ctx, func(e *Engine) error {
		writer, found = r.secondWriterLocked(e, spec)
		return nil
	})
	return writer, found, err
}

// SecondWriterOf implements runtime.Neighbours.
func (r *Runtime) SecondWriterOf(ctx context.Context, id string) (writer volumes.Writer, found bool, err error) {
	err = r.inspect(ctx, func(e *Engine) error {
		if c := e.containers[id]; c != nil {
			writer, found = r.secondWriterLocked(e, c.spec.Spec)
		}
		return nil
	})
	return writer, found, err
}

// SecondWriters implements runtime.Neighbours.
func (r *Runtime) SecondWriters(ctx context.Context) (map[string]volumes.Writer, error) {
	out := map[string]volumes.Writer{}
	err := r.inspect(ctx, func(e *Engine) error {
		for _, c := range e.sortedLocked() {
			if !c.active() || c.cluster() != r.cluster {
				continue
			}
			if writer, found := r.secondWriterLocked(e, c.spec.Spec); found {
				out[c.id] = writer
			}
		}
		return nil
	})
	return out, err
}

func (r *Runtime) secondWriterLocked(e *Engine, spec api.DeploymentSpec) (volumes.Writer, bool) {
	var others []volumes.Container
	for _, c := range e.sortedLocked() {
		if c.active() && c.cluster() != r.cluster {
			others = append(others, volumes.Container{Name: c.name, Labels: c.labels, Writes: volumes.Written(c.spec.Spec)})
		}
	}
	return volumes.SecondWriter(volumes.Written(spec), spec.Labels, others)
}

// Volumes returns the volumes there are, with their labels.
func (e *Engine) Volumes() map[string]map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.volumes)
}
