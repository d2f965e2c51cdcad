package cli

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

func TestNoOutput(t *testing.T) {
	of := func(kind api.Kind, spec string) api.Object {
		return api.Object{Kind: kind, Scope: "prod", Name: "web", Spec: json.RawMessage(spec)}
	}
	for name, test := range map[string]struct {
		object        api.Object
		ran, filtered bool
		want          string
	}{
		"its pods are silent": {of(api.KindDeployment, `{}`), true, false,
			"the pods of deployment/prod/web have written nothing; how they are: tend describe prod/web"},
		"a filter hides it": {of(api.KindDeployment, `{}`), true, true,
			"deployment/prod/web has no such output; tend logs prod/web shows all of it"},
		"the run was silent": {of(api.KindJob, `{}`), true, false,
			"the newest run of job/prod/web has written nothing; how it ended: tend runs prod/web"},
		"it never ran": {of(api.KindCronJob, `{}`), false, true,
			"cronjob/prod/web has not run yet, and has no output; to run it: tend run prod/web"},
		"an ingress leads to pods": {of(api.KindIngress, `{"host":"a.example.org","service":"shop"}`), true, false,
			"ingress/prod/web has no output of its own; its pods have: tend logs prod/shop"},
		"a kind without containers": {of(api.KindSink, `{}`), true, false,
			"sink/prod/web runs no containers and has no output; what it does: tend describe sink/prod/web"},
		"a cluster's operator says it": {of(api.KindApplicationInstance, `{}`), true, false, ""},
	} {
		if got := noOutput(test.object, test.ran, test.filtered); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
