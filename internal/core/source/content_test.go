package source

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

func TestRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		kind         api.Kind
		spec         string
		plain, trust string
	}{
		"plain":          {api.KindDeployment, `{"image":"a","volumes":["data:/data"],"network_mode":"bridge"}`, "", ""},
		"host folder":    {api.KindDeployment, `{"image":"a","volumes":["/etc:/x:ro"]}`, "volumes reaches the host", ""},
		"job":            {api.KindJob, `{"image":"a","volumes":["/:/x"]}`, "volumes reaches the host", ""},
		"lab":            {api.KindLab, `{"image":"a","volumes":["/:/x"]}`, "volumes reaches the host", ""},
		"lab, build":     {api.KindLab, `{"build":{}}`, "a sync builds nothing", "a sync builds nothing"},
		"devices":        {api.KindStatefulSet, `{"image":"a","devices":["/dev/kvm"]}`, "devices reaches the host", ""},
		"capability":     {api.KindDeployment, `{"image":"a","cap_add":["SYS_ADMIN"]}`, "cap_add reaches the host", ""},
		"host network":   {api.KindDeployment, `{"image":"a","network_mode":"host"}`, "network_mode reaches the host", ""},
		"security":       {api.KindDeployment, `{"image":"a","security_opt":["seccomp=unconfined"]}`, "security_opt reaches", ""},
		"docker options": {api.KindCronJob, `{"image":"a","docker_options":["--privileged"]}`, "docker_options reaches the host", ""},
		"init":           {api.KindDeployment, `{"image":"a","inits":[{"name":"i","docker_options":["--privileged"]}]}`, "init.docker_options reaches", ""},
		"image folder":   {api.KindDeployment, `{"image":"/srv/app"}`, "image reaches the host", ""},
		"init image":     {api.KindDeployment, `{"image":"a","inits":[{"name":"i","image":"/srv/app"}]}`, "init.image reaches", ""},
		"build":          {api.KindDeployment, `{"build":{}}`, "a sync builds nothing", "a sync builds nothing"},
		"no image":       {api.KindDeployment, `{}`, "a sync builds nothing", "a sync builds nothing"},
		"macro":          {"postgres", `{}`, "a sync runs no plugin", "a sync runs no plugin"},
		"node":           {api.KindNode, `{}`, "concerns the whole cluster", ""},
		"sync":           {api.KindSync, `{"dir":"/etc"}`, "concerns the whole cluster", ""},
		"ingress":        {api.KindIngress, `{"host":"a.example"}`, "", ""},
	} {
		object := api.Object{Kind: tc.kind, Scope: "prod", Name: "x", Spec: []byte(tc.spec)}
		for trusted, want := range map[bool]string{false: tc.plain, true: tc.trust} {
			got := ""
			if fault := Refuse(object, trusted); fault != nil {
				if got = fault.Message; fault.Reason != api.ReasonNotAllowed || fault.Next == "" {
					t.Errorf("%s: %+v", name, fault)
				}
			}
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s, trusted %v: %q, want %q", name, trusted, got, want)
			}
		}
	}
}
