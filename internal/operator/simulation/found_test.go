//go:build simulate

package simulation

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// The names in every world.
const (
	system      = "vworkspace-system"
	clusterName = "east"
)

// namespaces are those with applications.
var namespaces = []string{"prod", "test"}

// person is the field manager of people who use kubectl.
const person = "kubectl"

// found makes the cluster and the control plane, and starts what surrounds the operator.
func (w *World) found() {
	w.cluster = cluster.New()
	w.oracle = newOracle(w)
	w.cluster.Observe(w.oracle.happened)
	w.weather = newWeather(w)
	w.create(cluster.Namespace, "", "default", nil)
	w.namespace(system)
	for _, name := range namespaces {
		w.namespace(name)
	}
	w.plane = newPlane(w)
	w.register()
	w.flux, w.jobs, w.workflows, w.storage = newFlux(w), newJobs(w), newWorkflows(w), newStorage(w)
	w.parts.Go(func() {
		w.cluster.Collect(w.ctx, func() time.Duration { return w.between(time.Millisecond, 2*time.Second) })
	})
	w.parts.Go(func() { w.play(w.flux.step) })
	w.parts.Go(func() { w.play(w.jobs.step) })
	w.parts.Go(func() { w.play(w.workflows.step) })
	w.parts.Go(func() { w.play(w.storage.velero.step) })
	w.parts.Go(func() { w.play(w.storage.replications.step) })
}

// play calls step until it has nothing to do, and again with each change of the cluster.
func (w *World) play(step func() (acted bool)) {
	for {
		changed := w.cluster.Changed()
		if !step() {
			select {
			case <-changed:
			case <-w.ctx.Done():
				return
			}
		}
		select {
		case <-time.After(w.between(time.Millisecond, 600*time.Millisecond)):
		case <-w.ctx.Done():
			return
		}
	}
}

// namespace creates a namespace that the operator may work in, with the objects that operations need.
func (w *World) namespace(name string) {
	w.create(cluster.Namespace, "", name, map[string]any{"metadata": map[string]any{
		"labels": map[string]any{identity.LabelNamespaceGate: identity.NamespaceGate},
	}})
	w.create(cluster.ServiceAccount, name, identity.RunnerServiceAccount, nil)
	w.create(cluster.WorkflowTemplate, name, book, nil)
	w.create(cluster.Claim, name, volume, nil)
	w.create(cluster.Secret, name, good, nil)
	w.create(cluster.Secret, name, broken, nil)
}

// register creates what `tend clusters add` prints.
func (w *World) register() {
	token, authority, jobs, approvals := w.plane.invite()
	w.create(cluster.Secret, system, "tend-registration", map[string]any{"stringData": map[string]any{
		"registrationToken": token, "ca.crt": authority, "serverName": "example.com", "jobKeys": jobs,
		"approvalSecret": approvals,
	}})
	w.create(cluster.Registration, "", clusterName, map[string]any{"spec": map[string]any{
		"clusterID": clusterName, "controlPlaneEndpoint": "https://example.com",
		"registrationTokenSecretRef": map[string]any{"name": "tend-registration"},
	}})
}

// create creates an object as a person does.
func (w *World) create(kind schema.GroupVersionKind, namespace, name string, content map[string]any) {
	object := &unstructured.Unstructured{Object: content}
	if content == nil {
		object.Object = map[string]any{}
	}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	if _, err := w.cluster.Create(object, cluster.Write{By: person}); err != nil {
		w.storyf("create %s %s/%s: %v", kind.Kind, namespace, name, err)
	}
}

// patch patches an object as a person does, if it exists.
func (w *World) patch(kind schema.GroupVersionKind, namespace, name string, content map[string]any) {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	if _, err := w.cluster.Merge(object, cluster.Write{By: person}); err != nil {
		w.storyf("patch %s %s/%s: %v", kind.Kind, namespace, name, err)
	}
}

func text(live *unstructured.Unstructured, path ...string) string {
	if live == nil {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func number(live *unstructured.Unstructured, path ...string) int64 {
	if live == nil {
		return 0
	}
	switch value, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...); value := value.(type) {
	case int64:
		return value
	case float64:
		return int64(value)
	}
	return 0
}
