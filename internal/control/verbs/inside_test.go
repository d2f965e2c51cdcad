package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// What verbs of a deployer decide: nothing, what runs in pods that are and will be, or in those that will be declared;
// or that the object goes, and what it keeps with it.
const (
	nothing, runs, declares, removes = 0, 1, 2, 3
)

// reaching are the verbs of a deployer that reach the pods of deployment/prod/agent, and what they decide.
var reaching = map[string]struct {
	decides int
	call    func(*Service, context.Context) error
}{
	"another image":          {declares, change(func(fields map[string]any) { fields["image"] = "b" })},
	"another command":        {declares, change(func(fields map[string]any) { fields["command"] = []string{"sh"} })},
	"replicas":               {declares, change(func(fields map[string]any) { fields["replicas"] = 2 })},
	"config of the object":   {runs, setConfig(Bucket{"prod", "agent"}, ConfigChange{Set: map[string]string{"LD_PRELOAD": "/x.so"}})},
	"config for the restart": {runs, setConfig(Bucket{"prod", "agent"}, ConfigChange{Set: map[string]string{"A": "b"}, Quiet: true})},
	"config of its scope":    {runs, setConfig(Bucket{"prod", ""}, ConfigChange{Set: map[string]string{"A": "b"}})},
	"config that it names":   {runs, setConfig(Bucket{"prod", "shared"}, ConfigChange{Set: map[string]string{"A": "b"}})},
	"a key removed":          {runs, setConfig(Bucket{"prod", "shared"}, ConfigChange{Unset: []string{"OLD"}})},
	"what config has":        {nothing, setConfig(Bucket{"prod", "shared"}, ConfigChange{Set: map[string]string{"OLD": "1"}})},
	"config of another":      {nothing, setConfig(Bucket{"prod", "web"}, ConfigChange{Set: map[string]string{"A": "b"}})},
	"a file that it mounts":  {runs, applies(asset("prod", "conf", map[string]string{"run": "mine"}))},
	"the same with the object": {runs, func(s *Service, ctx context.Context) error {
		read, err := s.opts.Reader.Fresh(ctx)
		if err != nil {
			return err
		}
		agent := *read.Object(ref("prod", "agent")).Value
		agent.Metadata = api.Metadata{}
		return applies(agent, asset("prod", "conf", map[string]string{"run": "mine"}))(s, ctx)
	}},
	"a file before one of no scope": {runs, applies(asset("prod", "ca", map[string]string{"pem": "mine"}))},
	"a file of others":              {nothing, applies(asset("prod", "other", map[string]string{"run": "mine"}))},
	"a certificate of a key that it reads": {runs, applies(api.Object{Kind: api.KindIngress, Scope: "prod", Name: "shared",
		Spec: []byte(`{"host":"a.example","service":"web","port":80,"tls":{"certificate":"OLD","key":"OLD"}}`)})},
	"a certificate of other keys": {nothing, applies(api.Object{Kind: api.KindIngress, Scope: "prod", Name: "shared",
		Spec: []byte(`{"host":"a.example","service":"web","port":80,"tls":{"certificate":"CRT","key":"KEY"}}`)})},
	"all that an admin gave left out": {declares, change(func(fields map[string]any) {
		for _, given := range []string{"devices", "network_mode", "docker_options"} {
			delete(fields, given)
		}
		fields["labels"] = map[string]string{"changed": "yes"}
		fields["volumes"] = []string{"${asset.conf.run}:/run"}
	})},
	"its deletion": {removes, func(s *Service, ctx context.Context) error {
		_, err := s.Delete(ctx, TargetOf(ref("prod", "agent")), "carol")
		return err
	}},
	"its deletion, by a prune": {removes, func(s *Service, ctx context.Context) error {
		_, err := s.Apply(ctx, []api.Object{deployment("prod", "web", `{"image":"a"}`)}, ApplyOptions{Set: "shop", Prune: true})
		return err
	}},
	"a restart": {nothing, func(s *Service, ctx context.Context) error {
		_, err := s.Restart(ctx, TargetOf(ref("prod", "agent")), "carol")
		return err
	}},
	"a scale": {nothing, func(s *Service, ctx context.Context) error {
		_, err := s.Scale(ctx, TargetOf(ref("prod", "agent")), 3, FieldManager{Actor: "carol"})
		return err
	}},
}

// change applies deployment/prod/agent with other fields.
func change(by func(fields map[string]any)) func(*Service, context.Context) error {
	return func(s *Service, ctx context.Context) error {
		read, err := s.opts.Reader.Fresh(ctx)
		if err != nil {
			return err
		}
		agent := *read.Object(ref("prod", "agent")).Value
		var fields map[string]any
		if err := json.Unmarshal(agent.Spec, &fields); err != nil {
			return err
		}
		by(fields)
		agent.Metadata = api.Metadata{}
		agent.Spec, err = json.Marshal(fields)
		if err != nil {
			return err
		}
		return applies(agent)(s, ctx)
	}
}

func setConfig(bucket Bucket, change ConfigChange) func(*Service, context.Context) error {
	return func(s *Service, ctx context.Context) error {
		_, err := s.SetConfig(ctx, bucket, change)
		return err
	}
}

func applies(objects ...api.Object) func(*Service, context.Context) error {
	return func(s *Service, ctx context.Context) error {
		_, err := s.Apply(ctx, objects, ApplyOptions{})
		return err
	}
}

// TestACommandAtAPortOfTheFlags: a server that is alone writes no record of itself, and yet knows its ports.
func TestACommandAtAPortOfTheFlags(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Ports = []int{9443} })
	w.mustApply(deployment("prod", "agent", `{"image":"a","ports":["127.0.0.1:9443:80"]}`))
	carol := source.Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}}
	read, err := w.service.opts.Reader.Fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fault := w.service.RefuseInside(carol, read, *w.object(ref("prod", "agent")), nil)
	if fault == nil || !strings.Contains(fault.Message, "port 9443") {
		t.Errorf("a command is allowed: %v", fault)
	}
}

// parties are those who decide nothing about the host: the containers are those of a workload of the same scope, by
// their token.
var parties = map[string]source.Rights{
	"deployer":   {Person: "carol is deployer of prod", Scopes: []string{"prod"}, HostPaths: []string{"/srv/data"}},
	"containers": source.RightsOfContainers(api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}),
}

// TestADeployerDecidesNotWhatRunsOnAHost walks parties × verbs × what an admin's workload has of the host.
func TestADeployerDecidesNotWhatRunsOnAHost(t *testing.T) {
	const fields = `"image":"a","env_from":["shared"],"env":{"CA":"${asset.ca.pem}"}`
	const plain = `{` + fields + `,"labels":{"conf":"${asset.conf.run}"}}` // no field that needs a container engine
	with := func(volumes, more string) string {
		return `{` + fields + `,"volumes":["${asset.conf.run}:/run"` + volumes + `]` + more + `}`
	}
	for name, workload := range map[string]struct {
		host bool
		spec string
		pod  func(w *world) // makes the pod that runs
	}{
		"no part of the host":          {false, with("", ""), nil},
		"a folder that all may":        {false, with(`,"/srv/data:/d"`, ""), nil},
		"a folder":                     {true, with(`,"/:/host"`, ""), nil},
		"a device":                     {true, with("", `,"devices":["/dev/kvm"]`), nil},
		"its network":                  {true, with("", `,"network_mode":"host"`), nil},
		"flags of the engine":          {true, with("", `,"docker_options":["--privileged"]`), nil},
		"a port of Tend's":             {true, with("", `,"ports":["127.0.0.1:8680-8690:80"]`), nil},
		"a port of the server's flags": {true, with("", `,"ports":["127.0.0.1:9440-9450:80"]`), nil},
		"a port that it had before": {false, with("", `,"ports":["127.0.0.1:8680-8690:80"]`), func(w *world) {
			agent := *w.object(ref("prod", "agent"))
			agent.Metadata.Stamps = stamped(without(agent.Metadata.Stamps, api.StampGivenPorts), api.StampConfined, "true")
			w.put(records.ObjectKey(agent.Ref()), agent)
		}},
		"a folder, of a former pod": {true, with("", ""), func(w *world) { w.podOf("n1", with(`,"/:/host"`, "")) }},
		"plain processes":           {true, with("", ""), func(w *world) { w.podOf("plain", with("", "")) }},
		"plain processes, later":    {true, plain, func(w *world) { w.node("plain", "process") }},
		"of a former release, again": {true, with("", ""), func(w *world) {
			w.node("plain", "process")
			w.releaseOf(plain, "process")
		}},
		"never a plain process, by a field": {false, with("", ""), func(w *world) { w.node("plain", "process") }},
		"never, by its placement": {false, plain[:len(plain)-1] + `,"placement":{"constraints":["node.runtime!=process"]}}`,
			func(w *world) { w.node("plain", "process") }},
		"never, by its image": {false, plain, func(w *world) {
			w.node("plain", "process")
			w.releaseOf(plain, "docker")
		}},
		"a pod on another node": {false, with("", ""), func(w *world) {
			w.node("plain", "process")
			w.podOf("n1", with("", ""))
		}},
	} {
		for verb, tc := range reaching {
			for party, rights := range parties {
				t.Run(party+"/"+name+"/"+verb, func(t *testing.T) {
					w := newWorld(t, withKeys, func(o *Options) {
						o.Assets, o.Ports = newShelf(), []int{9443} // a server that is alone writes no record of itself
					})
					w.mustApply(asset("prod", "conf", map[string]string{"run": "theirs"}),
						asset(api.Unscoped, "ca", map[string]string{"pem": "theirs"}))
					if _, err := w.apply(ApplyOptions{Set: "shop"}, deployment("prod", "agent", workload.spec)); err != nil {
						t.Fatal(err)
					}
					ctx := WithRights(t.Context(), rights)
					if err := applies(deployment("prod", "web", `{"image":"a"}`))(w.service, ctx); err != nil {
						t.Fatal(err)
					}
					w.set(Bucket{"prod", "shared"}, "OLD", "1")
					if workload.pod != nil {
						workload.pod(w)
					}
					host := workload.host || name == "a folder that all may" && len(rights.HostPaths) == 0
					switch { // pods that are not as it is declared count for what runs in them alone; ports are given up freely
					case tc.decides == nothing, tc.decides >= declares && workload.pod != nil,
						tc.decides == removes && strings.HasPrefix(name, "a port of"):
						host = false
					}
					w.decides(ctx, host, tc.call)
				})
			}
		}
	}
}

// decides makes a call of one who isn't trusted, which is refused where the host would be theirs.
func (w *world) decides(ctx context.Context, refused bool, call func(*Service, context.Context) error) {
	w.t.Helper()
	before := w.revision()
	err := call(w.service, ctx)
	if !refused {
		if err != nil {
			w.t.Errorf("it is refused: %v", err)
		}
		return
	}
	var fault *Error
	if !errors.As(err, &fault) || fault.Reason != Forbidden || fault.Next == "" ||
		!strings.Contains(fault.Error(), "prod/agent") && !strings.Contains(fault.Error(), "prod-agent.") {
		w.t.Errorf("it is not refused, with the object that has the host: %v", err)
	}
	if w.revision() != before {
		w.t.Errorf("something was stored")
	}
	if err := call(w.service, w.t.Context()); err != nil {
		w.t.Errorf("an admin is refused: %v", err)
	}
}

func (w *world) node(id, runtime string) {
	w.put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: runtime, Ready: true})
}

// releaseOf makes a release of deployment/prod/agent whose image a runtime has.
func (w *world) releaseOf(spec, runtime string) {
	agent := w.object(ref("prod", "agent"))
	w.put(records.ReleaseKey(agent.Ref(), "v1"), api.Release{ID: "v1", Kind: agent.Kind, Scope: agent.Scope, Name: agent.Name,
		Spec: []byte(spec), Image: "a", ImageRuntime: runtime})
}

// podOf makes the pod of deployment/prod/agent on a node, plain or not, of a release with a spec.
func (w *world) podOf(node, spec string) {
	agent := w.object(ref("prod", "agent"))
	w.node(node, map[string]string{"plain": "process"}[node])
	w.put(records.ReleaseKey(agent.Ref(), "v1"), api.Release{ID: "v1", Kind: agent.Kind, Scope: agent.Scope, Name: agent.Name,
		Spec: []byte(spec)})
	task := api.Task{ID: strings.Repeat("a", 16), Kind: agent.Kind, Scope: agent.Scope, Name: agent.Name,
		OwnerUID: agent.Metadata.UID, Slot: "aaaaaaaa", Release: "v1", Node: node, Desired: api.DesiredRunning}
	w.put(records.TaskKey(task.ID), task)
}
