package verbs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAMissingValueOfAHookIsReportedEarly: a missing value refuses nothing, because it may be set later, and each apply
// warns of it.
func TestAMissingValueOfAHookIsReportedEarly(t *testing.T) {
	w := newWorld(t, withKeys)
	web := deployment("prod", "web", `{"image":"web","env":{"A":"${config.MINE}"},"on_deploy":{"failure":[
		{"url":"${config.URL}","headers":{"X":"${config.shared.hooks.TOKEN}"}},{"url":"http://a/${config.hooks.PATH}","body":{"own":"$${config.NONE}"}}]}}`)
	want := []string{
		"on_deploy.failure[0]: ${config.URL}: there is no config value URL yet; set it with tend config set prod/web URL=…",
		"on_deploy.failure[0]: ${config.shared.hooks.TOKEN}: there is no config value TOKEN yet; set it with tend config set shared/hooks TOKEN=…",
		"on_deploy.failure[1]: ${config.hooks.PATH}: there is no config value PATH yet; set it with tend config set prod/hooks PATH=…",
	}
	if diff := cmp.Diff(want, w.mustApply(web).Objects[0].Warnings); diff != "" {
		t.Error(diff)
	}
	for bucket, key := range map[Bucket]string{{Scope: "prod"}: "URL", {Scope: "prod", Name: "hooks"}: "PATH",
		{Scope: "shared", Name: "hooks"}: "TOKEN"} {
		if _, err := w.service.SetConfig(t.Context(), bucket,
			ConfigChange{Set: map[string]string{key: "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	if result := w.mustApply(web).Objects[0]; len(result.Warnings) > 0 || result.Action != api.ActionUnchanged {
		t.Errorf("%+v", result)
	}
}

// TestPortsOnTheHostsNetwork: they are accepted, with a warning that they have no effect.
func TestPortsOnTheHostsNetwork(t *testing.T) {
	w := newWorld(t)
	result := w.mustApply(deployment("prod", "agent", `{"image":"agent","network_mode":"host","ports":["9100"]}`))
	if warnings := result.Objects[0].Warnings; len(warnings) != 1 ||
		!strings.Contains(warnings[0], "ports: not published") {
		t.Errorf("warnings are %q", warnings)
	}
	result = w.mustApply(deployment("prod", "web", `{"image":"web","ports":["9101"]}`))
	if warnings := result.Objects[0].Warnings; len(warnings) > 0 {
		t.Errorf("warnings are %q", warnings)
	}
}

// TestReplicasOnOneVolume: apply and scale warn alike of replicas that write to one volume.
func TestReplicasOnOneVolume(t *testing.T) {
	w := newWorld(t)
	want := func(name string) string { return "volumes: 2 replicas write to the volume data-" + name + " at once" }
	applied := w.mustApply(deployment("prod", "two", `{"image":"a","replicas":2,"volumes":["data-two:/data"]}`),
		deployment("prod", "one", `{"image":"a","volumes":["data-one:/data"]}`),
		deployment("prod", "grows", `{"image":"a","volumes":["data-grows:/data"],"autoscale":{"min":1,"max":2,"cpu_target":50}}`))
	for i, warned := range []bool{true, false, true} {
		if got := applied.Objects[i].Warnings; (len(got) == 1 &&
			strings.HasPrefix(got[0], want(applied.Objects[i].Name))) != warned {
			t.Errorf("%s: %q", applied.Objects[i].Ref, got)
		}
	}
	target := Target{Kind: api.KindDeployment, Scope: "prod", Name: "one"}
	scaled, err := w.service.Scale(t.Context(), target, 2, FieldManager{Actor: "test"})
	if err != nil || len(scaled.Warnings) != 1 || !strings.HasPrefix(scaled.Warnings[0], want("one")) {
		t.Errorf("scaled to 2: %q, %v", scaled.Warnings, err)
	}
	if scaled, err = w.service.Scale(t.Context(), target, 1, FieldManager{Actor: "test"}); err != nil ||
		len(scaled.Warnings) != 0 {
		t.Errorf("scaled to 1: %q, %v", scaled.Warnings, err)
	}
}

// TestADryRunNamesWhatIsWrong: a dry run warns of an ingress that leads nowhere, and says why an object that it leaves
// as it is isn't as declared; an apply doesn't, since it waits and says so at its end.
func TestADryRunNamesWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	site := ingressObject("prod", "site", `{"host":"a.test","service":"wbe"}`)
	web := deployment("prod", "web", `{"image":"web"}`)
	const nowhere = "there is no deployment or statefulset prod/wbe"
	last := func(objects ...api.Object) api.ObjectResult {
		t.Helper()
		result, err := w.apply(ApplyOptions{DryRun: true}, objects...)
		if err != nil {
			t.Fatal(err)
		}
		return result.Objects[len(objects)-1]
	}
	dry := func(objects ...api.Object) []string { return last(objects...).Warnings }
	if got := dry(site); !slices.Equal(got, []string{nowhere}) {
		t.Errorf("alone: %q", got)
	}
	if got := dry(web, site); !slices.Equal(got, []string{nowhere + "; did you mean deployment/prod/web?"}) {
		t.Errorf("beside its workload: %q", got)
	}
	if got := w.mustApply(web, site).Objects[1].Warnings; len(got) > 0 {
		t.Errorf("applied: %q", got)
	}
	w.put(records.StatusKey(web.Ref()), api.WorkloadStatus{Conditions: []api.Condition{{Type: api.ConditionDegraded,
		Status: api.ConditionTrue, Message: "no image web here\n  | log"}}})
	if got := last(web); got.Unmet == nil || got.Unmet.Message != "no image web here\n  | log" || len(got.Warnings) > 0 {
		t.Errorf("degraded: %+v", got)
	}
	if got := last(deployment("prod", "web", `{"image":"web:2"}`)); got.Unmet != nil || len(got.Warnings) > 0 {
		t.Errorf("corrected: %+v", got)
	}
	w.put(records.StatusKey(site.Ref()), api.IngressStatus{Conditions: []api.Condition{{Type: api.ConditionReady,
		Status: api.ConditionFalse, Reason: api.ReasonNoService, Message: nowhere}}})
	if got := last(web, site); got.Unmet == nil || got.Unmet.Message != nowhere || len(got.Warnings) > 0 {
		t.Errorf("an ingress that leads nowhere says so once: %+v", got)
	}
	if got := w.mustApply(web, site).Objects[1]; got.Unmet != nil {
		t.Errorf("an apply waits, and ends with what is wrong: %+v", got)
	}
}
