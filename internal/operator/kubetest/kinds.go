package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// Kinds returns CRDs.
type Kinds func() ([]*unstructured.Unstructured, error)

// Tend returns the operator's own CRDs as shipped.
func Tend() ([]*unstructured.Unstructured, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	return readFolder(filepath.Join(root, "deploy", "operator", "crd"))
}

// readFolder returns the objects in all YAML files of a folder.
func readFolder(dir string) (objects []*unstructured.Unstructured, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if objects, err = readFiles(files...); err == nil && len(objects) == 0 {
		err = fmt.Errorf("%s has no CRD", dir)
	}
	return objects, err
}

// readFiles returns the CRDs in YAML files.
func readFiles(files ...string) (objects []*unstructured.Unstructured, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if object.GetKind() == "CustomResourceDefinition" {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Install adds kinds to the server and waits until it serves them.
func (s *Server) Install(ctx context.Context, kinds ...Kinds) error {
	set, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	var all []*unstructured.Unstructured
	for _, list := range kinds {
		objects, err := list()
		if err != nil {
			return err
		}
		all = append(all, objects...)
	}
	for _, object := range all {
		if _, err := set.Resource(definitions).Create(ctx, object, metav1.CreateOptions{}); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the CRD %s: %w", object.GetName(), err)
		}
	}
	for _, object := range all {
		if err := established(ctx, set, object); err != nil {
			return fmt.Errorf("wait for the CRD %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// established waits until the kind can be listed: the CRD's condition becomes true slightly earlier.
func established(ctx context.Context, set dynamic.Interface, definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		values, _ := version.(map[string]any)
		if served, _ := values["served"].(bool); !served {
			continue
		}
		name, _ := values["name"].(string)
		resource := schema.GroupVersionResource{Group: group, Version: name, Resource: plural}
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := set.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", resource, context.Cause(ctx))
		}
	}
	return nil
}
