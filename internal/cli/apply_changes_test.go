package cli

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

func TestChangesText(t *testing.T) {
	change := func(path, old, next string) api.FieldChange {
		c := api.FieldChange{Path: path}
		if old != "" {
			c.Old = json.RawMessage(old)
		}
		if next != "" {
			c.New = json.RawMessage(next)
		}
		return c
	}
	for name, tc := range map[string]struct {
		reason  string
		kind    api.Kind
		changes []api.FieldChange
		want    string
	}{
		"values": {"plain fields with both values", api.KindDeployment,
			[]api.FieldChange{change("image", `"web:1"`, `"web:2"`), change("replicas", "2", "1")},
			"image web:1 → web:2, replicas 2 → 1"},
		"list": {"a list that goes is named once", api.KindDeployment,
			[]api.FieldChange{change("ports[0]", `"80"`, ""), change("ports[1]", `"81"`, "")}, "ports removed"},
		"shortened": {"one that stays is not", api.KindDeployment,
			[]api.FieldChange{change("ports[0]", `"80"`, `"81"`), change("ports[1]", `"81"`, "")},
			"ports[0] 80 → 81, ports[1] removed"},
		"added": {"new fields", api.KindDeployment, []api.FieldChange{change("user", "", `"app"`)}, "user added (app)"},
		"private": {"no value of a variable or an argument", api.KindDeployment,
			[]api.FieldChange{change("command[1]", `"--key=s3cret"`, `"--key=other"`), change("env.A", `"s3cret"`, `"other"`),
				change("env.B", "", `"s3cret"`), change("inits[0].env.C", `"s3cret"`, "")},
			"command[1] changed, env.A changed, env.B added, inits[0].env.C removed"},
		"file": {"nor of an asset", api.KindAsset, []api.FieldChange{change("files.main", `"s3cret"`, `"other"`)},
			"files.main changed"},
		"control": {"what a value does to a terminal is shown", api.KindDeployment,
			[]api.FieldChange{change("user", `"a"`, `"\u001b[2J"`)}, `user a → \x1b[2J`},
		"many": {"a long list is cut", api.KindDeployment,
			[]api.FieldChange{change("a", "1", "2"), change("b", "1", "2"), change("c", "1", "2"), change("d", "1", "2"),
				change("e", "1", "2"),
				change("f", "1", "2"), change("g", "1", "2"), change("h", "1", "2"), change("i", "1", "2"), change("j", "1", "2")},
			"a 1 → 2, b 1 → 2, c 1 → 2, d 1 → 2, e 1 → 2, f 1 → 2, g 1 → 2, h 1 → 2, 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changesText(api.ObjectResult{Ref: api.Ref{Kind: tc.kind}, Changes: tc.changes}); got != tc.want {
				t.Errorf("%s:\n got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
