package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
)

// returns mounts a file into a workload; the file outlives a start of the server over an empty store. Then it rebuilds
// the image under its tag and changes the file and the config, which Tend must notice. Then it rolls back with the
// config: the older build and the older file must run again.
func (w *World) returns() {
	random := rand.New(rand.NewPCG(w.opts.Seed, 6<<32))
	for _, object := range w.declaredObjects() {
		ref := object.Ref()
		if !ref.Kind.HasSlots() || object.Metadata.Deleting() || w.failed() {
			continue
		}
		w.renewFiles()
		first := w.sound(random, object)
		w.insist(mounting(first))
		w.becomes("it was declared")
		unmount(w, random)
		ran, release := w.runsNow(ref)
		var spec api.DeploymentSpec
		decode(first.Spec, &spec)
		w.storyf("-- %s moves", spec.Image)
		w.knowImage(w.engine.Retag(spec.Image), spec.Image)
		w.becomes("an image moved")
		w.renewFiles()
		w.becomes("a file changed")
		w.calm()
		w.becomes("config changed")
		w.storyf("-- %s returns to %s", ref, release)
		w.askNow(ref, input{verb: "rollback"}, w.rollingBack(ref, release, client.WithConfig))
		w.await(correctTime, func() []string {
			if now, _ := w.runsNow(ref); now != ran {
				return []string{now}
			}
			return nil
		})
		if now, _ := w.runsNow(ref); now != ran {
			w.fail("%s was rolled back to %s, which was\n%s\nbut now it is\n%s", ref, release, ran, now)
		}
		w.insist(w.sound(random, object))
		break
	}
	w.becomes("it was declared again")
}

// becomes requires that the world reaches the declared state.
func (w *World) becomes(since string) {
	w.await(correctTime, w.amiss)
	if left := w.amiss(); len(left) > 0 {
		w.fail("%s after %s, the world isn't as declared: %s", correctTime, since, strings.Join(left, "; "))
	}
}

// runsNow describes the running containers of an object, each sort once, and names the release of one.
func (w *World) runsNow(ref api.Ref) (sorts, release string) {
	found := map[string]bool{}
	for _, c := range w.ours() {
		if ownerOf(c) != ref || c.State != runtime.StateRunning || c.Labels[api.LabelRole] != "" {
			continue
		}
		made := w.engine.Spec(c.Name)
		variables := maps.Clone(made.Env)
		maps.DeleteFunc(variables, func(name, _ string) bool { return addedByTend(name) })
		content, err := os.ReadFile(mounted(made, mountedAt))
		found[fmt.Sprintf("%s %q, environment %v, file %q %v", c.ImageID, made.Spec.Command, variables, content, err)] = true
		release = c.Labels[api.LabelRelease]
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "\n"), release
}

// renewFiles declares new files twice: a new file gets the time of the machine, one that is declared again the virtual
// time.
func (w *World) renewFiles() {
	content := map[string]api.AssetFile{}
	for _, key := range fileKeys {
		content[key] = api.AssetFile{Text: fmt.Sprintf("file %s, number %s\n", key, w.people.fresh())}
	}
	for range 2 {
		w.insist(objectOf(files, api.AssetSpec{Files: content}))
	}
}

// mounting returns a workload that runs one pod with a mounted file.
func mounting(object api.Object) api.Object {
	fields := map[string]any{}
	decode(object.Spec, &fields)
	fields["replicas"], fields["volumes"] = 1, []string{"${asset.files." + fileKeys[0] + "}:" + mountedAt + ":ro"}
	return objectOf(object.Ref(), fields)
}
