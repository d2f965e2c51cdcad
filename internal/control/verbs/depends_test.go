package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func dependsOn(name string, needs ...string) api.Object {
	list := ""
	if len(needs) > 0 {
		list = `"` + strings.Join(needs, `","`) + `"`
	}
	return deployment("prod", name, `{"image":"web:1","depends_on":{"workloads":[`+list+`]}}`)
}

func refersTo(name, value string) api.Object {
	return deployment("prod", name, `{"image":"web:1","env":{"OTHER":"`+value+`"}}`)
}

func TestDependenciesOfAnApply(t *testing.T) {
	cases := map[string]struct {
		reason  string
		stored  []api.Object
		applied []api.Object
		want    string // of the error, empty if it is stored
	}{
		"in the batch": {"files name each other in any order", nil,
			[]api.Object{dependsOn("web", "deployment/db"), dependsOn("db")}, ""},
		"in the store": {"what is stored already is there", []api.Object{dependsOn("db")},
			[]api.Object{dependsOn("web", "deployment/prod/db")}, ""},
		"nowhere": {"a release would wait for ever", nil, []api.Object{dependsOn("web", "deployment/db")},
			"deployment/prod/db does not exist"},
		"another kind": {"the likely slip is named", []api.Object{dependsOn("db")},
			[]api.Object{dependsOn("web", "statefulset/db")}, "did you mean deployment/prod/db?"},
		"itself": {"an object can't wait for itself", nil, []api.Object{dependsOn("web", "deployment/web")},
			"deployment/prod/web → deployment/prod/web"},
		"circle": {"a circle is reported with its path", nil,
			[]api.Object{dependsOn("a", "deployment/b"), dependsOn("b", "deployment/c"),
				dependsOn("c", "deployment/a")},
			"deployment/prod/a → deployment/prod/b → deployment/prod/c → deployment/prod/a"},
		"circle through the store": {"also one that only this apply closes",
			[]api.Object{dependsOn("a"), dependsOn("b", "deployment/a")},
			[]api.Object{dependsOn("a", "deployment/b")}, "deployment/prod/a → deployment/prod/b → deployment/prod/a"},
		"releases of each other": {"each new one would make one of the other",
			[]api.Object{dependsOn("a"), dependsOn("b")},
			[]api.Object{refersTo("a", "${ref.deployment.b.release}"),
				refersTo("b", "${ref.deployment.prod.a.release}")},
			"${ref.deployment/prod/b…}: goes round in a circle: deployment/prod/a → deployment/prod/b → deployment/prod/a"},
		"an image and a dependency": {"neither would come first", nil,
			[]api.Object{refersTo("a", "${ref.deployment.b.image}"), dependsOn("b", "deployment/a")},
			"goes round in a circle"},
		"hosts of each other": {"they are known before anything runs", nil,
			[]api.Object{refersTo("a", "http://${ref.deployment.b.host}"),
				refersTo("b", "http://${ref.deployment.a.host}")},
			""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if len(tc.stored) > 0 {
				w.mustApply(tc.stored...)
			}
			_, err := w.apply(ApplyOptions{}, tc.applied...)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.want != "":
				wantReason(t, err, Invalid)
				if !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: %v, want %q in it", tc.reason, err, tc.want)
				}
			}
		})
	}
}

// TestAnUnchangedDependentIsNotAsked: an object that waits for a deleted one can still be applied unchanged.
func TestAnUnchangedDependentIsNotAsked(t *testing.T) {
	w := newWorld(t)
	w.mustApply(dependsOn("db"), dependsOn("web", "deployment/db"))
	if _, err := records.NewTxn("test").Delete(records.ObjectKey(ref("prod", "db"))).Commit(t.Context(),
		w.store); err != nil {
		t.Fatal(err)
	}
	w.mustApply(dependsOn("web", "deployment/db"))
}
