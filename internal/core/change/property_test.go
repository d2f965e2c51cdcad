package change_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
)

// secret is in every place of a spec that may hold one.
const secret = "s3cr3t"

// specs draws specs in which every secret place holds the secret, and others are of a few values.
func specs() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		hidden := rapid.Custom(func(t *rapid.T) string { return secret + rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "value") })
		spec := map[string]any{}
		place := func(name string, value any) {
			if rapid.Bool().Draw(t, name) {
				spec[name] = value
			}
		}
		place("replicas", rapid.IntRange(0, 3).Draw(t, "n"))
		place("image", rapid.SampledFrom([]string{"a:1", "a:2"}).Draw(t, "i"))
		place("env", map[string]any{"KEY": hidden.Draw(t, "e"),
			rapid.StringMatching(`[A-Z]{1,3}`).Draw(t, "k"): hidden.Draw(t, "f")})
		place("command", []string{hidden.Draw(t, "c")})
		place("entrypoint", []string{hidden.Draw(t, "ep")})
		place("release", map[string]any{"command": []string{hidden.Draw(t, "r")},
			"env": map[string]any{"A": hidden.Draw(t, "re")}})
		place("post_deploy", map[string]any{"command": []string{hidden.Draw(t, "p")}})
		place("probes",
			map[string]any{"liveness": map[string]any{"http": map[string]any{"headers": map[string]any{"Auth": hidden.Draw(t,
				"h")}}}})
		place("health_check", map[string]any{"command": hidden.Draw(t, "hc")})
		place("on_deploy", map[string]any{"success": map[string]any{"url": hidden.Draw(t, "u"),
			"secret": hidden.Draw(t, "s")}})
		place("build", map[string]any{"args": map[string]any{"TOKEN": hidden.Draw(t, "b")}})
		place("labels", map[string]any{"a": hidden.Draw(t, "l")})
		place("files", map[string]any{"x": hidden.Draw(t, "t")})
		place("inits", []any{map[string]any{"command": []string{hidden.Draw(t, "in")}}})
		return spec
	})
}

// leavesOf returns all leaves of a decoded spec: the dumb way to compare two.
func leavesOf(path string, value any, into map[string]string) {
	if block, ok := value.(map[string]any); ok && len(block) > 0 {
		for key, inner := range block {
			leavesOf(path+"."+key, inner, into)
		}
		return
	}
	raw, _ := json.Marshal(value)
	into[path] = string(raw)
}

// TestEveryChangedFieldIsNamedAndNoSecretIs draws two specs: the event names each leaf in which they differ, and no
// other, and has no byte of a secret value.
func TestEveryChangedFieldIsNamedAndNoSecretIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := specs().Draw(t, "before"), specs().Draw(t, "after")
		rawBefore, _ := json.Marshal(before)
		rawAfter, _ := json.Marshal(after)
		was, is := map[string]string{}, map[string]string{}
		leavesOf("spec", before, was)
		leavesOf("spec", after, is)
		delete(was, "spec") // of an empty spec
		delete(is, "spec")
		differ := map[string]bool{}
		for path, value := range was {
			if is[path] != value {
				differ[path] = true
			}
		}
		for path, value := range is {
			if was[path] != value {
				differ[path] = true
			}
		}
		events := change.Object(object(string(rawBefore)), object(string(rawAfter)))
		if bytes.Equal(rawBefore, rawAfter) != (len(events) == 0) {
			t.Fatalf("%d events for %d differences", len(events), len(differ))
		}
		for _, e := range events {
			if got := len(e.Data.Changes) + e.Data.MoreChanges; got != len(differ) {
				t.Errorf("%d changes, want %d: %v", got, len(differ), differ)
			}
			if len(e.Data.Changes) > api.MaxEventChanges {
				t.Errorf("%d fields are listed", len(e.Data.Changes))
			}
			for _, c := range e.Data.Changes {
				if !differ[c.Path] {
					t.Errorf("%s is named, and isn't among the differences %v", c.Path, differ)
				}
			}
			if raw, _ := json.Marshal(e); strings.Contains(string(raw), secret) {
				t.Errorf("a secret is in %s", raw)
			}
		}
	})
}
