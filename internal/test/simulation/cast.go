package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"tend.dev/tend/api"
)

const scope = "prod"

// cast are the objects of a world. swap is sometimes a deployment and sometimes a statefulset.
var cast = []api.Ref{
	{Kind: api.KindDeployment, Scope: scope, Name: "web"},
	{Kind: api.KindDeployment, Scope: scope, Name: "api"},
	{Kind: api.KindStatefulSet, Scope: scope, Name: "db"},
	{Kind: api.KindDeployment, Scope: scope, Name: "swap"},
	{Kind: api.KindStatefulSet, Scope: scope, Name: "swap"},
	{Kind: api.KindJob, Scope: scope, Name: "task"},
	{Kind: api.KindCronJob, Scope: scope, Name: "tick"},
}

// files is the asset that others mount; served are the workloads behind an ingress of the same name.
var (
	files  = api.Ref{Kind: api.KindAsset, Scope: scope, Name: "files"}
	served = []string{"web", "api"}
)

func anyOf[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func chance(random *rand.Rand, of int) bool { return random.IntN(of) == 0 }

// manifest returns one of the many variants of an object. With sound it can be rolled out.
func manifest(random *rand.Rand, ref api.Ref, sound bool) api.Object {
	switch {
	case ref.Kind.HasSlots():
		return objectOf(ref, workload(random, ref, sound))
	case ref.Kind == api.KindCronJob:
		spec := api.CronJobSpec{JobSpec: jobSpec(random, ref, sound),
			Schedule: anyOf(random, []string{"* * * * *", "*/5 * * * *"})}
		spec.ConcurrencyPolicy = anyOf(random, []string{"", api.ConcurrencyForbid, api.ConcurrencyReplace})
		return objectOf(ref, spec)
	}
	return objectOf(ref, jobSpec(random, ref, sound))
}

func objectOf(ref api.Ref, spec any) api.Object {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // specs are plain values
	}
	return api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw}
}

func workload(random *rand.Rand, ref api.Ref, sound bool) api.DeploymentSpec {
	replicas := random.IntN(4)
	spec := api.DeploymentSpec{Container: container(random, ref, sound), Replicas: &replicas}
	spec.Strategy = &api.Strategy{
		Pause:    api.Duration(anyOf(random, []string{"0s", "1s", "2s"})),
		Monitor:  api.Duration(anyOf(random, []string{"1s", "5s"})),
		Deadline: "30s", Drain: "0s",
		OnFailure: anyOf(random, []string{"", api.OnFailureRollback, api.OnFailureContinue}),
	}
	if ref.Kind == api.KindDeployment {
		spec.Strategy.MaxParallel = random.IntN(3)
		spec.Strategy.Order = anyOf(random, []string{"", api.OrderStopFirst, api.OrderStartFirst})
	}
	if chance(random, 3) {
		spec.Probes = &api.Probes{Readiness: readiness()}
	}
	if chance(random, 8) { // two workloads may claim the same port
		spec.Ports = []string{anyOf(random, []string{"18080", "18081"}) + ":8080"}
	}
	if chance(random, 4) {
		spec.Release = &api.ReleaseHooks{Command: []string{"migrate", strconv.Itoa(random.IntN(2))}}
	}
	return spec
}

func readiness() *api.Probe {
	return &api.Probe{HTTPGet: &api.HTTPGet{Path: "/ready", Port: 8080}, Period: "1s", FailureThreshold: 2}
}

func container(random *rand.Rand, ref api.Ref, sound bool) api.Container {
	tag := anyOf(random, versions)
	if !sound && chance(random, 5) {
		tag = anyOf(random, badVersions)
	}
	out := api.Container{Image: ref.Name + ":" + tag, Env: map[string]string{"A": strconv.Itoa(random.IntN(3))}}
	if chance(random, 3) {
		out.Command = []string{"serve", strconv.Itoa(random.IntN(3))}
	}
	if ref.Kind.HasSlots() && chance(random, 6) {
		out.SecretFiles = map[string]string{secretAt: anyOf(random, []string{"X", "Y"})}
	}
	if chance(random, 4) {
		out.Volumes = []string{"${asset.files." + anyOf(random, fileKeys) + "}:" + mountedAt + ":ro"}
	}
	return out
}

func jobSpec(random *rand.Rand, ref api.Ref, sound bool) api.JobSpec {
	out := api.JobSpec{Container: container(random, ref, true)}
	if !sound && chance(random, 4) {
		out.Image, out.Retries = ref.Name+":"+tagFail, random.IntN(2)
	}
	return out
}

// secretAt is where a container has a secret as a file.
const secretAt = "/run/secrets/value"

// mountedAt is where a container has a file of the asset.
const mountedAt = "/etc/app/file"

// fileKeys are the keys of the asset.
var fileKeys = []string{"a", "b"}

func assetManifest(random *rand.Rand) api.Object {
	content := map[string]api.AssetFile{}
	for _, key := range fileKeys {
		content[key] = api.AssetFile{Text: fmt.Sprintf("file %s, version %d\n", key, random.IntN(4))}
	}
	return objectOf(files, api.AssetSpec{Files: content})
}

func ingressManifest(name string) api.Object {
	return objectOf(api.Ref{Kind: api.KindIngress, Scope: scope, Name: name},
		api.IngressSpec{Host: name + ".test", Port: 8080})
}

// short limits a verb of a person.
const short = 45 * time.Second
