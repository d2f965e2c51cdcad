package api

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"slices"
)

// ReleaseHooks are commands run once per release, each in a container of that release: its image, environment, volumes
// and networks, without ports. Until PreCommand and Command have succeeded, in this order, no pod is touched.
type ReleaseHooks struct {
	Command    []string `json:"command,omitempty" hcl:"command,optional"`
	PreCommand []string `json:"pre_command,omitempty" hcl:"pre_command,optional"`
	// PostCommand runs once the rollout is complete; a failure is reported and changes nothing.
	PostCommand []string `json:"post_command,omitempty" hcl:"post_command,optional"`
	// Timeout is the limit of each of them, from its request. Default 10m.
	Timeout Duration `json:"timeout,omitempty" hcl:"timeout,optional"`
}

// Steps returns the steps before and after the rollout of a release of the spec; nil without steps.
func (s DeploymentSpec) Steps() *ReleaseSteps {
	steps := ReleaseSteps{}
	if s.DependsOn != nil {
		steps.DependsOn = s.DependsOn.Workloads
	}
	if r := s.Release; r != nil {
		steps.Timeout = r.Timeout
		if len(r.PreCommand) > 0 {
			steps.Before = append(steps.Before, RolePre)
		}
		if len(r.Command) > 0 {
			steps.Before = append(steps.Before, RoleCommand)
		}
		if len(r.PostCommand) > 0 {
			steps.After = append(steps.After, RolePost)
		}
	}
	if len(s.PostDeploy) > 0 {
		steps.After = append(steps.After, RoleDeploy)
	}
	if len(steps.DependsOn)+len(steps.Before)+len(steps.After) == 0 {
		return nil
	}
	return &steps
}

// DeployHooks are webhooks called when a rollout ends.
type DeployHooks struct {
	Success []Webhook `json:"success,omitempty" hcl:"success,block"`
	Failure []Webhook `json:"failure,omitempty" hcl:"failure,block"`
}

// ProbeHooks are webhooks called when a probe changes its answer.
type ProbeHooks struct {
	Failure  []Webhook `json:"failure,omitempty" hcl:"failure,block"`
	Recovery []Webhook `json:"recovery,omitempty" hcl:"recovery,block"`
}

// Webhook is one HTTP call.
type Webhook struct {
	// URL is http or https. A secret in it is best a reference, ${config.KEY}: what that stands for is looked up when the
	// call is made, and neither stored nor shown. References may stand in Headers and Body too.
	URL string `json:"url" hcl:"url"`
	// Method is POST, PUT, PATCH or DELETE. Default POST.
	Method string `json:"method,omitempty" hcl:"method,optional"`
	// Headers are sent as they are, references replaced.
	Headers map[string]string `json:"headers,omitempty" hcl:"headers,optional"`
	// Body is the JSON sent, {{token}} in any of its texts replaced. Default: all tokens that say something.
	Body Payload `json:"body,omitempty" hcl:"body,optional"`
	// File is an asset, ${asset.name.key}, used like Body.
	File string `json:"file,omitempty" hcl:"file,optional"`
}

// Payload is a JSON object of any shape. Numbers are kept as they were written.
type Payload map[string]any

// UnmarshalJSON keeps numbers exact.
func (p *Payload) UnmarshalJSON(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil {
		return err
	}
	*p = out
	return nil
}

// HookAt finds a webhook by its field path: on_deploy.success[0]. It returns nil if there is none.
func (s DeploymentSpec) HookAt(path string) *Webhook {
	for list, hooks := range s.webhooks() {
		for i := range hooks {
			if index(list, i) == path {
				return &hooks[i]
			}
		}
	}
	return nil
}

// Hooks are a spec's webhooks by their field path, in order.
func (s DeploymentSpec) Hooks() iter.Seq2[string, Webhook] {
	return func(yield func(string, Webhook) bool) {
		all := s.webhooks()
		for _, list := range slices.Sorted(maps.Keys(all)) {
			for i, hook := range all[list] {
				if !yield(index(list, i), hook) {
					return
				}
			}
		}
	}
}

// webhooks are a spec's webhooks by the path of their list.
func (s DeploymentSpec) webhooks() map[string][]Webhook {
	out := map[string][]Webhook{}
	if s.OnDeploy != nil {
		out[HooksDeploySuccess], out[HooksDeployFailure] = s.OnDeploy.Success, s.OnDeploy.Failure
	}
	if s.OnProbe != nil {
		out[HooksProbeFailure], out[HooksProbeRecovery] = s.OnProbe.Failure, s.OnProbe.Recovery
	}
	return out
}

// The field paths of the lists of webhooks.
const (
	HooksDeploySuccess = "on_deploy.success"
	HooksDeployFailure = "on_deploy.failure"
	HooksProbeFailure  = "on_probe.failure"
	HooksProbeRecovery = "on_probe.recovery"
)

// HookPaths are the field paths of the targets of one list, in order.
func (s DeploymentSpec) HookPaths(list string) []string {
	var out []string
	for i := range s.webhooks()[list] {
		out = append(out, index(list, i))
	}
	return out
}
