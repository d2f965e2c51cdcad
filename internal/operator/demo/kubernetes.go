package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/kubetest"
)

var (
	helmRelease   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	ociRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
)

func (d *demo) startServer(context.Context) (err error) {
	d.kubernetes, err = kubetest.Start(kubetest.Tend, kubetest.Flux)
	return err
}

func (d *demo) client(agent string) (client.Client, error) {
	return client.New(d.kubernetes.As(agent), client.Options{Scheme: kubetest.Scheme(), FieldOwner: agent})
}

func (d *demo) createNamespace(ctx context.Context, name string) error {
	admin, err := d.client("demo")
	if err != nil {
		return err
	}
	return admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{identity.LabelNamespaceGate: identity.NamespaceGate},
	}})
}

// create creates the objects in a YAML text.
func (d *demo) create(ctx context.Context, text []byte) error {
	admin, err := d.client("demo")
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := admin.Create(ctx, object); err != nil {
			return err
		}
		fmt.Printf("%s %s created\n", object.GetKind(), object.GetName())
	}
}

// playFlux reports each source and release of the demo as ready, until the context ends.
func (d *demo) playFlux(ctx context.Context) error {
	flux, err := d.client("flux-stand-in")
	if err != nil {
		return err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, kind := range []schema.GroupVersionKind{ociRepository, helmRelease} {
			if err := installed(ctx, flux, kind); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// installed writes the status of one of the demo's objects, once for each generation.
func installed(ctx context.Context, flux client.Client, kind schema.GroupVersionKind) error {
	name, reason := "web", "InstallSucceeded"
	if kind == ociRepository {
		name, reason = "web-source", "Succeeded"
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	if err := flux.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if seen, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration"); seen == live.GetGeneration() {
		return nil
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("1.2.3")))
	now := metav1.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"observedGeneration": live.GetGeneration(), "conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": reason, "message": "written by the demo, which plays Flux",
		"observedGeneration": live.GetGeneration(), "lastTransitionTime": now,
	}}}
	if kind == ociRepository {
		status["artifact"] = map[string]any{"revision": "1.2.3@" + digest, "digest": digest, "path": "p", "url": "http://source/p", "lastUpdateTime": now}
	} else {
		status["lastAttemptedRevision"], status["lastAttemptedRevisionDigest"] = "1.2.3+"+digest[len("sha256:"):][:12], digest
	}
	live.Object["status"] = status
	fmt.Printf("(the stand-in for Flux says that the %s %s is ready)\n", kind.Kind, name)
	if err := flux.Status().Update(ctx, live); err != nil && !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// release reads the HelmRelease.
func (d *demo) release(ctx context.Context) (*unstructured.Unstructured, error) {
	admin, err := d.client("demo")
	if err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(helmRelease)
	return live, admin.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, live)
}

func (d *demo) printRelease(ctx context.Context) error {
	live, err := d.release(ctx)
	if err != nil {
		return err
	}
	source, _, _ := unstructured.NestedString(live.Object, "spec", "chartRef", "name")
	values, _, _ := unstructured.NestedMap(live.Object, "spec", "values")
	fmt.Printf("HelmRelease shop/web: chartRef %s, values %v, labels %v\n", source, values, live.GetLabels())
	return nil
}

func (d *demo) gone(ctx context.Context) bool {
	_, err := d.release(ctx)
	return apierrors.IsNotFound(err)
}
