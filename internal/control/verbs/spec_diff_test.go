package verbs

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestChanges(t *testing.T) {
	cases := map[string]struct{ old, next, want string }{
		"equal":   {`{"a":1}`, `{"a":1}`, ``},
		"added":   {`{}`, `{"image":"x"}`, `image: → "x"`},
		"removed": {`{"image":"x"}`, `{}`, `image: "x" →`},
		"nested": {`{"strategy":{"order":"a","pause":"1s"}}`, `{"strategy":{"order":"b","pause":"1s"}}`,
			`strategy.order: "a" → "b"`},
		"list grows":    {`{"ports":["80"]}`, `{"ports":["80","81"]}`, `ports[1]: → "81"`},
		"list order":    {`{"l":[1,2]}`, `{"l":[2,1]}`, `l[0]: 1 → 2; l[1]: 2 → 1`},
		"odd key":       {`{"labels":{"a.b":"1"}}`, `{"labels":{}}`, `labels["a.b"]: "1" →`},
		"number's form": {`{"n":1}`, `{"n":1.0}`, ``},
		"large numbers": {`{"n":9007199254740993}`, `{"n":9007199254740992}`,
			`n: 9007199254740993 → 9007199254740992`},
		"type":             {`{"a":"1"}`, `{"a":1}`, `a: "1" → 1`},
		"list to object":   {`{"a":[1]}`, `{"a":{"b":1}}`, `a: [1] → {"b":1}`},
		"empty is a value": {`{}`, `{"command":[]}`, `command: → []`},
		"null is absent":   {`{"a":null}`, `{}`, ``},
		"no escaping":      {`{}`, `{"a":"<&>"}`, `a: → "<&>"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes, err := Changes(json.RawMessage(tc.old), json.RawMessage(tc.next))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				line := strings.Join(strings.Fields(c.Path+": "+string(c.Old)+" → "+string(c.New)), " ")
				got = append(got, line)
			}
			if text := strings.Join(got, "; "); text != tc.want {
				t.Errorf("got  %s\nwant %s", text, tc.want)
			}
		})
	}
}

func TestChangesAgainstItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.MapOfN(rapid.StringMatching(`[a-c]`), rapid.Custom(func(t *rapid.T) any {
			return rapid.SampledFrom([]any{nil, 1, "x", true, []any{}, []any{1, "a"},
				map[string]any{"k": []any{map[string]any{"d": 2}}}}).Draw(t, "value")
		}), 0, 3)
		a, _ := json.Marshal(spec.Draw(t, "a"))
		b, _ := json.Marshal(spec.Draw(t, "b"))
		same, _ := Changes(a, a)
		if len(same) != 0 {
			t.Fatalf("%s differs from itself: %v", a, same)
		}
		there, _ := Changes(a, b)
		back, _ := Changes(b, a)
		if len(there) != len(back) {
			t.Fatalf("%s → %s has %d changes, the way back %d", a, b, len(there), len(back))
		}
	})
}
