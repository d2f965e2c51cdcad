package verbs

import (
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestAnAliasIsNobodyElsesName: a name of a scope leads to one workload.
func TestAnAliasIsNobodyElsesName(t *testing.T) {
	set := func(name, spec string) api.Object {
		return api.Object{Kind: api.KindStatefulSet, Scope: "prod", Name: name, Spec: []byte(spec)}
	}
	called := func(name string, aliases ...string) api.Object {
		return deployment("prod", name, fmt.Sprintf(`{"image":"a","aliases":["%s"]}`, strings.Join(aliases, `","`)))
	}
	hosted := func(name, hostname string) api.Object {
		return deployment("prod", name, fmt.Sprintf(`{"image":"a","hostname":"%s"}`, hostname))
	}
	job := func(name, hostname string) api.Object {
		return api.Object{Kind: api.KindJob, Scope: "prod", Name: name,
			Spec: fmt.Appendf(nil, `{"image":"a","hostname":"%s"}`, hostname)}
	}
	for name, tc := range map[string]struct {
		stored, applied []api.Object
		want            string // empty: it is applied
	}{
		"a hostname": {[]api.Object{set("db", `{}`)}, []api.Object{hosted("web", "db.prod")},
			"hostname: the name db.prod is that of statefulset/prod/db"},
		"a hostname in a zone": {[]api.Object{set("db", `{}`)}, []api.Object{hosted("web", "DB-1.prod.tend")},
			"hostname: the name db-1.prod is that of ordinal 1 of statefulset/prod/db"},
		"a job's hostname": {[]api.Object{set("db", `{}`)}, []api.Object{job("task", "db.prod")},
			"hostname: the name db.prod is that of statefulset/prod/db"},
		"its own hostname":         {nil, []api.Object{hosted("web", "web.prod"), job("task", "task.prod")}, ""},
		"a hostname elsewhere":     {[]api.Object{set("db", `{}`)}, []api.Object{hosted("web", "db.example")}, ""},
		"the alias of a hostname":  {[]api.Object{hosted("db", "x.prod")}, []api.Object{called("web", "x")}, "db (its hostname)"},
		"the hostname of an alias": {[]api.Object{called("db", "x")}, []api.Object{job("task", "x.prod")}, "db (its alias)"},
		"a workload called like a hostname": {[]api.Object{job("task", "db.prod")}, []api.Object{set("db", `{}`)},
			"name: the name db.prod is the hostname of job/prod/task"},
		"a workload called like an ordinal": {[]api.Object{set("db", `{}`)}, []api.Object{deployment("prod", "db-1", `{}`)},
			"name: the name db-1.prod is that of ordinal 1 of statefulset/prod/db"},
		"an ordinal called like a workload": {[]api.Object{deployment("prod", "db-1", `{}`)}, []api.Object{set("db", `{}`)},
			"name: the name db-1.prod of its ordinal 1 is that of deployment/prod/db-1"},
		"both called so in one apply": {nil, []api.Object{deployment("prod", "db-1", `{}`), set("db", `{}`)},
			"the name db-1.prod is that of ordinal 1 of statefulset/prod/db"},
		"called like an ordinal elsewhere": {[]api.Object{set("db", `{}`)}, []api.Object{deployment("other", "db-1", `{}`)}, ""},
		"no number of an ordinal": {[]api.Object{set("db", `{}`)}, []api.Object{deployment("prod", "db-02", `{}`),
			deployment("prod", "db-10000", `{}`), called("web", "db-007", "db-2026-11")}, ""},
		"beside what no scale can make": {[]api.Object{deployment("prod", "db-02", `{}`), deployment("prod", "db-20261", `{}`)},
			[]api.Object{set("db", `{}`)}, ""},
		"the last number of an ordinal": {[]api.Object{set("db", `{}`)}, []api.Object{deployment("prod", "db-9999", `{}`)},
			"ordinal 9999 of statefulset/prod/db"},
		"called like no ordinal":       {[]api.Object{deployment("prod", "db", `{}`)}, []api.Object{set("db-1", `{}`)}, ""},
		"a job called like an ordinal": {[]api.Object{set("db", `{}`)}, []api.Object{job("db-1", "")}, ""},
		"a job called like an alias":   {[]api.Object{called("web", "task")}, []api.Object{job("task", "")}, ""},
		"its own name":                 {nil, []api.Object{called("web", "web", "www")}, ""},
		"free":                         {[]api.Object{set("db", `{}`)}, []api.Object{called("web", "db-x", "my_db")}, ""},
		"in another scope":             {[]api.Object{deployment("other", "db", `{}`)}, []api.Object{called("web", "db")}, ""},
		"a workload": {[]api.Object{set("db", `{}`)}, []api.Object{called("web", "x", "db")},
			"aliases[1]: the name db.prod is that of statefulset/prod/db"},
		"an ordinal": {[]api.Object{set("db", `{}`)}, []api.Object{called("web", "db-7")},
			"aliases[0]: the name db-7.prod is that of ordinal 7 of statefulset/prod/db"},
		"an ordinal of its own": {nil, []api.Object{set("db", `{"aliases":["db-0"]}`)},
			"ordinal 0 of statefulset/prod/db"},
		"no ordinal": {[]api.Object{deployment("prod", "db", `{}`)}, []api.Object{called("web", "db-0")},
			""},
		"an alias": {[]api.Object{called("db", "store")}, []api.Object{called("web", "store")},
			"the name store.prod is that of deployment/prod/db (its alias)"},
		"both in one apply": {nil, []api.Object{called("web", "db"), set("db", `{}`)},
			"the name db.prod is that of statefulset/prod/db"},
		"a new workload": {[]api.Object{called("web", "db")}, []api.Object{set("db", `{}`)},
			"name: the name db.prod is an alias of deployment/prod/web"},
		"a new workload's pods": {[]api.Object{called("web", "db-0")}, []api.Object{set("db", `{}`)},
			"name: the name db-0.prod is an alias of deployment/prod/web"},
		"it moves in one apply": {[]api.Object{called("web", "db")},
			[]api.Object{called("web", "x"), called("app", "db")}, ""},
		"it is applied once more": {[]api.Object{called("web", "db")}, []api.Object{called("web", "db", "x")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if len(tc.stored) > 0 {
				w.mustApply(tc.stored...)
			}
			before := w.revision()
			_, err := w.apply(ApplyOptions{}, tc.applied...)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want == "":
			default:
				if refused := wantReason(t, err, NameTaken); !strings.Contains(refused.Error(), tc.want) ||
					w.revision() != before {
					t.Errorf("it says %v, want %q", refused, tc.want)
				}
			}
		})
	}
}

// TestAPrunedNameIsFree: a workload that is renamed keeps its old name as an alias.
func TestAPrunedNameIsFree(t *testing.T) {
	w := newWorld(t)
	if _, err := w.apply(ApplyOptions{Set: "s"}, deployment("prod", "db", `{"image":"a"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(ApplyOptions{Set: "s", Prune: true},
		deployment("prod", "store", `{"image":"a","aliases":["db"]}`)); err != nil {
		t.Error(err)
	}
}

// TestARollbackTakesNoName: the release has an alias that another workload is called since.
func TestARollbackTakesNoName(t *testing.T) {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{"image":"web:2"}`), deployment("prod", "db", `{"image":"a"}`))
	w.put(records.ReleaseKey(ref("prod", "web"), "v1"),
		api.Release{ID: "v1", Number: 1, Kind: api.KindDeployment, Scope: "prod", Name: "web",
			Spec: []byte(`{"image":"web:1","aliases":["db"]}`), SpecHash: "a", ImageID: "web:1"})
	_, err := w.service.Rollback(t.Context(), TargetOf(ref("prod", "web")), RollbackOptions{Release: "v1"})
	if refused := wantReason(t, err, NameTaken); !strings.Contains(refused.Error(),
		"db.prod is that of deployment/prod/db") {
		t.Errorf("it says %v", refused)
	}
}
