package spechash

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// draw returns a spec with some of its fields set.
func draw(t *rapid.T) (api.DeploymentSpec, map[string]string) {
	seed := rapid.Uint64().Draw(t, "seed")
	return randomSpec(rand.New(rand.NewPCG(seed, seed)), int(seed%1000))
}

func shuffled(t *rapid.T, list []string) []string {
	return rapid.Permutation(slices.Clone(list)).Draw(t, "order")
}

// The order in which a map was filled, or a set was written, changes nothing.
func TestOrderOfSetsIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, assets := draw(t)
		other := spec
		other.Networks = shuffled(t, spec.Networks)
		other.ExtraHosts = shuffled(t, spec.ExtraHosts)
		other.CapAdd = shuffled(t, spec.CapAdd)
		other.CapDrop = shuffled(t, spec.CapDrop)
		other.Env = refilled(t, spec.Env)
		other.Ulimits = refilled(t, spec.Ulimits)
		if hash(spec, assets) != hash(other, refilled(t, assets)) {
			t.Fatalf("%+v and %+v hash differently", spec, other)
		}
	})
}

func refilled(t *rapid.T, table map[string]string) map[string]string {
	var keys []string
	for key := range table {
		keys = append(keys, key)
	}
	out := map[string]string{}
	for _, key := range shuffled(t, keys) {
		out[key] = table[key]
	}
	return out
}

// The order of lists whose order means something counts.
func TestOrderOfListsCounts(t *testing.T) {
	lists := map[string]func(s *api.DeploymentSpec, list []string){
		"ports":    func(s *api.DeploymentSpec, l []string) { s.Ports = l },
		"command":  func(s *api.DeploymentSpec, l []string) { s.Command = l },
		"env_from": func(s *api.DeploymentSpec, l []string) { s.EnvFrom = l },
		"volumes":  func(s *api.DeploymentSpec, l []string) { s.Volumes = l },
		"inits": func(s *api.DeploymentSpec, l []string) {
			for _, name := range l {
				s.Inits = append(s.Inits, api.Init{Name: name})
			}
		},
	}
	for name, set := range lists {
		var a, b api.DeploymentSpec
		set(&a, []string{"1", "2"})
		set(&b, []string{"2", "1"})
		if hash(a, nil) == hash(b, nil) {
			t.Errorf("%s: its order is part of what it says", name)
		}
	}
}

// No excluded field ever changes a hash, whatever else is set; every included one does.
func TestExcludedNeverCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, assets := draw(t)
		before := hash(spec, assets)
		name := rapid.SampledFrom(setterNames()).Draw(t, "field")
		setters()[name](&spec, rapid.IntRange(2000, 9000).Draw(t, "value"))
		covered, _ := covers(name)
		if changed := hash(spec, assets) != before; changed != covered && name != "read_only" {
			t.Fatalf("%s: changed %t, covered %t", name, changed, covered)
		}
	})
}

func TestSpellings(t *testing.T) {
	one := 1
	cases := map[string]struct {
		reason string
		a, b   api.DeploymentSpec
		same   bool
	}{
		"replicas": {"left out and 1 are the same to the hash", api.DeploymentSpec{},
			api.DeploymentSpec{Replicas: &one}, true},
		"network": {"the older spelling means the same", api.DeploymentSpec{Container: api.Container{Network: "a"}},
			api.DeploymentSpec{Container: api.Container{Networks: []string{"a"}}}, true},
		"empty list": {"an empty list declares nothing", api.DeploymentSpec{},
			api.DeploymentSpec{Ports: []string{}}, true},
		"empty block": {"an empty block declares nothing", api.DeploymentSpec{},
			api.DeploymentSpec{Container: api.Container{Resources: &api.Resources{Limits: &api.ResourceLimits{}}}}, true},
		"build context": {"only build.args reach the image's content by themselves", api.DeploymentSpec{},
			api.DeploymentSpec{Container: api.Container{Build: &api.Build{Context: "."}}}, true},
		"empty variable": {"a variable that is empty is set", api.DeploymentSpec{},
			api.DeploymentSpec{Container: api.Container{Env: map[string]string{"A": ""}}}, false},
		"default said": {"a default that is written is a declaration: defaults may change", api.DeploymentSpec{},
			api.DeploymentSpec{Restart: api.DefaultRestart}, false},
		"ports unread": {"ports are hashed as written", api.DeploymentSpec{Ports: []string{"80"}},
			api.DeploymentSpec{Ports: []string{"127.0.0.1::80"}}, false},
	}
	for name, c := range cases {
		if got := hash(c.a, nil) == hash(c.b, nil); got != c.same {
			t.Errorf("%s: %s: same is %t", name, c.reason, got)
		}
	}
}

func TestVersions(t *testing.T) {
	spec := api.DeploymentSpec{Container: api.Container{Image: "nginx"}}
	got, err := WorkloadVersion(Version, api.WorkloadSpec{DeploymentSpec: spec}, nil)
	if err != nil || got != hash(spec, nil) {
		t.Errorf("the newest version is the one Workload computes: %s, %v", got, err)
	}
	if _, err := WorkloadVersion(Version+1, api.WorkloadSpec{DeploymentSpec: spec}, nil); err == nil {
		t.Error("a version of the future is an error, not a guess")
	}
	if hash(spec, map[string]string{"a.b": "1"}) == hash(spec, map[string]string{"a.b": "2"}) {
		t.Error("an asset's digest counts")
	}
}
