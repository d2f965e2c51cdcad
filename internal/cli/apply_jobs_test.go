package cli

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestOnlyAJobThatWaitsForARequestGetsTheStep: an apply says how a job is run that it created or changed, and did not
// run.
func TestOnlyAJobThatWaitsForARequestGetsTheStep(t *testing.T) {
	const step = "job/prod/x is declared; it runs on request\n  Next: tend run job prod/x\n"
	for name, tc := range map[string]struct {
		kind               api.Kind
		action             api.ApplyAction
		spec, format, want string
	}{
		"created":           {api.KindJob, api.ActionCreated, `{"image":"a"}`, "", step},
		"changed":           {api.KindJob, api.ActionConfigured, `{"image":"a"}`, "", step},
		"unchanged":         {api.KindJob, api.ActionUnchanged, `{"image":"a"}`, "", ""},
		"runs by itself":    {api.KindJob, api.ActionCreated, `{"image":"a","run_on_release":true}`, "", ""},
		"has a schedule":    {api.KindCronJob, api.ActionCreated, `{"image":"a","schedule":"@daily"}`, "", ""},
		"read by a program": {api.KindJob, api.ActionCreated, `{"image":"a"}`, "json", ""},
	} {
		var said strings.Builder
		a := &app{streams: streams{err: &said}, output: tc.format}
		object := api.Object{Kind: tc.kind, Scope: "prod", Name: "x", Spec: []byte(tc.spec)}
		err := a.sayDeclared([]api.Object{object},
			api.ApplyResult{Objects: []api.ObjectResult{{Ref: object.Ref(), Action: tc.action}}})
		if err != nil || said.String() != tc.want {
			t.Errorf("%s: %q, %v", name, said.String(), err)
		}
	}
}
