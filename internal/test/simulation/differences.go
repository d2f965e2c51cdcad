package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// differences returns the differences between the existing containers and the declared objects, read from the engine
// and the store.
func (w *World) differences() []string {
	var out []string
	owned := map[api.Ref]bool{}
	for _, object := range w.declaredObjects() {
		owned[object.Ref()] = true
		if object.Metadata.Deleting() {
			out = append(out, fmt.Sprintf("%s is still being deleted", object.Ref()))
			continue
		}
		if boxed(object) {
			continue // the oracle of labs judges them
		}
		for _, fault := range w.differs(object) {
			out = append(out, fmt.Sprintf("%s: %s", object.Ref(), fault))
		}
	}
	for _, c := range w.ours() {
		if ref := ownerOf(c); !owned[ref] {
			out = append(out, fmt.Sprintf("%s is left of %s, which is gone", c.Name, ref))
		} else if _, err := w.store.Get(context.Background(), records.TaskKey(c.Task())); err != nil {
			out = append(out, fmt.Sprintf("%s is left of %s, which knows no such task", c.Name, ref))
		}
	}
	return out
}

func ownerOf(c runtime.Container) api.Ref {
	return api.Ref{Kind: api.Kind(c.Labels[api.LabelKind]), Scope: c.Labels[api.LabelScope], Name: c.Labels[api.LabelName]}
}

// ours are the containers of the cluster.
func (w *World) ours() []runtime.Container {
	cluster := w.cluster.Load()
	return slices.DeleteFunc(w.engine.Containers(), func(c runtime.Container) bool {
		return cluster == nil || c.Labels[api.LabelCluster] != *cluster
	})
}

// differs returns the differences between an object and its containers.
func (w *World) differs(object api.Object) []string {
	var out []string
	running := map[string]runtime.Container{}
	for _, c := range w.ours() {
		if ownerOf(c) != object.Ref() || c.State != runtime.StateRunning || c.Labels[api.LabelRole] != "" {
			continue
		}
		if task, known := w.archive.of(c.Task()); known && task.task.Role == api.RoleMain {
			if other, twice := running[c.Labels[api.LabelSlot]]; twice {
				out = append(out, fmt.Sprintf("%s runs on %s and on %s", c.Name, c.Labels[api.LabelNode],
					other.Labels[api.LabelNode]))
			}
			running[c.Labels[api.LabelSlot]] = c
		} else {
			out = append(out, c.Name+" still runs")
		}
	}
	if !object.Kind.HasSlots() {
		for _, c := range running {
			out = append(out, c.Name+" still runs")
		}
		return out
	}
	var spec api.DeploymentSpec
	decode(object.Spec, &spec)
	if len(running) != spec.ReplicaCount() {
		out = append(out, fmt.Sprintf("%d containers run, %d are declared", len(running), spec.ReplicaCount()))
	}
	for n := range spec.ReplicaCount() {
		if _, there := running[strconv.Itoa(n)]; object.Kind == api.KindStatefulSet && !there {
			out = append(out, fmt.Sprintf("ordinal %d doesn't run", n))
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(running)) {
		out = append(out, w.differsIn(object.Ref(), spec, running[slot])...)
	}
	return append(out, w.unserved(object, spec)...)
}

// differsIn compares one container with the manifest and the buckets.
func (w *World) differsIn(ref api.Ref, spec api.DeploymentSpec, c runtime.Container) []string {
	var out []string
	made := w.engine.Spec(c.Name)
	if image, err := w.engine.Client("the oracle", "n1").Resolve(context.Background(), spec.Image); err != nil ||
		image.ID != c.ImageID {
		out = append(out, fmt.Sprintf("%s runs %s (%.15s), declared is %s (%.15s)", c.Name, made.Image, c.ImageID,
			spec.Image, image.ID))
	}
	if !slices.Equal(made.Spec.Command, spec.Command) {
		out = append(out, fmt.Sprintf("%s runs %q, declared is %q", c.Name, made.Spec.Command, spec.Command))
	}
	want := w.bucketsOf(ref)
	for path, key := range spec.SecretFiles { // in a file, it isn't a variable too
		if content, err := os.ReadFile(mounted(made, path)); err != nil || string(content) != want[key] {
			out = append(out, fmt.Sprintf("%s has %q in %s (%v), declared is %q", c.Name, content, path, err, want[key]))
		}
		delete(want, key)
	}
	maps.Copy(want, spec.Env)
	got := maps.Clone(made.Env)
	maps.DeleteFunc(got, func(name, _ string) bool { return addedByTend(name) })
	if !maps.Equal(want, got) {
		out = append(out, fmt.Sprintf("%s has the environment %v, declared is %v", c.Name, got, want))
	}
	for _, volume := range spec.Volumes {
		if key, ok := strings.CutPrefix(volume, "${asset.files."); ok {
			key, _, _ = strings.Cut(key, "}")
			out = append(out, w.differsInFile(c.Name, made, key)...)
		}
	}
	return out
}

// bucketsOf decrypts the buckets of an object's environment.
func (w *World) bucketsOf(ref api.Ref) map[string]string {
	out := map[string]string{}
	for _, prefix := range []string{records.ConfigScopePrefix(ref.Scope), records.ConfigAppPrefix(ref.Scope, ref.Name)} {
		page, err := w.store.List(context.Background(), prefix, store.ListOptions{})
		if err != nil {
			w.fail("read the store: %v", err)
			return out
		}
		for _, entry := range page.Entries {
			value, err := w.openValue(entry.Value)
			if err != nil {
				w.fail("%s can't be opened: %v", entry.Key, err)
			}
			out[strings.TrimPrefix(entry.Key, prefix)] = value
		}
	}
	return out
}

// differsInFile compares a mounted file with the declared text.
func (w *World) differsInFile(name string, made runtime.ContainerSpec, key string) []string {
	var asset api.AssetSpec
	for _, object := range w.declaredObjects() {
		if object.Ref() == files {
			decode(object.Spec, &asset)
		}
	}
	source := mounted(made, mountedAt)
	if source == "" {
		return []string{fmt.Sprintf("%s doesn't mount %s, which is declared", name, mountedAt)}
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return []string{fmt.Sprintf("%s mounts a file that can't be read: %v", name, err)}
	}
	if declared := asset.Files[key]; string(content) != declared.Text && digest(content) != declared.Digest {
		return []string{fmt.Sprintf("%s mounts %q, declared is %+v", name, content, declared)}
	}
	return nil
}

// mounted returns the file of the host that a container has at a path.
func mounted(made runtime.ContainerSpec, at string) string {
	for _, file := range made.Files {
		if file.Target == at {
			return file.Source
		}
	}
	for _, entry := range made.Spec.Volumes {
		if volume, err := api.ParseVolume(entry); err == nil && volume.Target == at {
			return volume.Source
		}
	}
	return ""
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// unserved: a host whose app runs is answered.
func (w *World) unserved(object api.Object, spec api.DeploymentSpec) []string {
	if !slices.Contains(served, object.Name) || object.Kind != api.KindDeployment || spec.ReplicaCount() == 0 {
		return nil
	}
	for _, other := range w.declaredObjects() {
		if other.Kind == api.KindIngress && other.Name == object.Name && !w.request(object.Name) {
			return []string{fmt.Sprintf("%s.test is answered by no pod", object.Name)}
		}
	}
	return nil
}

// filesExist: the files that running containers mount exist.
func (o *watched) filesExist() {
	for _, c := range o.w.engine.Containers() {
		source := mounted(o.w.engine.Spec(c.Name), mountedAt)
		if _, err := os.Stat(source); source != "" && err != nil && c.State == runtime.StateRunning {
			o.w.fail("%s runs, and its file %s is gone", c.Name, mountedAt)
		}
	}
}
