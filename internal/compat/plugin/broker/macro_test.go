package broker_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/input/manifest"
)

const cache = `{kind: kv, scope: prod, name: cache, metadata: {labels: {team: core}}, spec: {size: 3, env: {A: 1}, on_probe: {failure: [{url: "https://h.example.org"}]}}}`

const twoAndActions = `{"manifests":[
  {"kind":"statefulset","name":"cache","spec":{"image":"kv:1","_asset_digests":{"x":"y"}}},
  {"kind":"deployment","scope":"prod","name":"cache-ui","spec":{"image":"ui:1"}}],
 "actions":[{"type":"config_set","scope":"prod","name":"cache","kv":{"PASSWORD":"p"}}]}`

func TestMacro(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/expand": answers(twoAndActions)})
	if _, err := w.verbs.SetConfig(t.Context(), verbs.Bucket{Scope: "prod"},
		verbs.ConfigChange{Set: map[string]string{"S": "scope"}}); err != nil {
		t.Fatal(err)
	}
	before := w.stored()
	dry, err := w.apply(cache, verbs.ApplyOptions{DryRun: true})
	if err != nil || len(dry.Objects) != 2 || !dry.Changed() {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	if diff := cmp.Diff(before, w.stored()); diff != "" {
		t.Errorf("a dry run stored something: %s", diff)
	}
	result, err := w.apply(cache, verbs.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set, ui := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "cache"},
		api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "cache-ui"}
	want := []api.MacroResult{{From: api.Ref{Kind: "kv", Scope: "prod", Name: "cache"}, To: []api.Ref{set, ui},
		Actions: []string{"set PASSWORD of prod/cache"}}}
	if diff := cmp.Diff(want, result.Macros); diff != "" {
		t.Error(diff)
	}
	for _, ref := range []api.Ref{set, ui} {
		stored := w.snapshot().Object(ref).Value
		if diff := cmp.Diff(map[string]string{"team": "core", api.LabelMacro: "kv/prod/cache"},
			stored.Metadata.Labels); diff != "" {
			t.Errorf("labels of %s: %s", ref, diff)
		}
		if !strings.Contains(string(stored.Spec), `"on_probe":{"failure":[{"url":"https://h.example.org"}]}`) ||
			strings.Contains(string(stored.Spec), "_asset_digests") {
			t.Errorf("the spec of %s is %s", ref, stored.Spec)
		}
	}
	if diff := cmp.Diff(map[string]string{"PASSWORD": "p"}, w.config("prod", "cache")); diff != "" {
		t.Error(diff)
	}
	again, err := w.apply(cache, verbs.ApplyOptions{})
	if err != nil || again.Changed() {
		t.Errorf("applied again it changes something: %+v, %v", again, err)
	}
	seen, _ := os.ReadFile(filepath.Join(w.dir, "kv", "seen"))
	if want := `{"kind":"kv","scope":"prod","name":"cache","spec":{"env":{"A":"1"},"on_probe":{"failure":[{"url":"https://h.example.org"}]},"size":3},"config":{"PASSWORD":"p","S":"scope"}}`; string(seen) != want {
		t.Errorf("the plugin was given\n%s, want\n%s", seen, want)
	}
}

// Whatever a plugin makes of a macro, nothing is stored of an apply that can't be stored whole.
func TestBadMacros(t *testing.T) {
	good := `{"kind":"deployment","name":"good","spec":{"image":"a:1"}}`
	action := `"actions":[{"type":"config_set","scope":"prod","name":"cache","kv":{"A":"1"}}]`
	for name, c := range map[string]struct{ expand, part string }{
		"foreign scope": {answers(`[` + good + `,{"kind":"deployment","scope":"other","name":"x","spec":{"image":"a:1"}}]`),
			"is in another scope"},
		"foreign action": {answers(`{"manifests":[` + good +
			`],"actions":[{"type":"config_set","scope":"other","name":"x","kv":{"A":"1"}}]}`), "may only change the scope prod"},
		"no core kind": {answers(`[` + good + `,{"kind":"kv","name":"x","spec":{}}]`), "a macro stands for core kinds"},
		"no name":      {answers(`[{"kind":"deployment","spec":{"image":"a:1"}}]`), "it has no name"},
		"no spec":      {answers(`[{"kind":"deployment","name":"x"}]`), "its spec is not an object"},
		"unknown field": {answers(`{"manifests":[{"kind":"deployment","name":"x","spec":{"imagee":"a:1"}}],` + action + `}`),
			"imagee"},
		"invalid value": {answers(`{"manifests":[` + good +
			`,{"kind":"deployment","name":"x","spec":{"image":"a:1","replicas":-1}}],` + action + `}`),
			"the plugin kv made it of kv/prod/cache"},
		"unstorable": {answers(`{"manifests":[` + good +
			`,{"kind":"deployment","name":"x","spec":{"image":"a:1","volumes":["${asset.none.x}:/x"]}}],` + action + `}`),
			"there is no such file"},
		"twice": {answers(`{"manifests":[` + good + `,` + good + `],` + action + `}`), "declared twice"},
		"failing action": {answers(`{"manifests":[` + good +
			`],"actions":[{"type":"delete_manifest","scope":"prod","name":"x","kind":"potato"}]}`), "potato"},
		"crash":    {"exit 1", "ended with 1"},
		"nonsense": {"echo hello", "not an envelope"},
	} {
		w := newWorld(t, map[string]string{"kv/bin/expand": c.expand})
		before := w.stored()
		_, err := w.apply("["+cache+", {kind: deployment, scope: prod, name: web, spec: {image: 'w:1'}}]",
			verbs.ApplyOptions{})
		if text := errorText(err); !strings.Contains(text, c.part) {
			t.Errorf("%s: %s, want %q", name, text, c.part)
		}
		if after := w.stored(); !maps.Equal(before, after) {
			t.Errorf("%s: something was stored: %v", name, cmp.Diff(before, after))
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "nothing went wrong"
	}
	return err.Error()
}

// The next macro's plugin sees the changes that earlier macros' actions will make, in a dry run too.
func TestPendingConfig(t *testing.T) {
	w := newWorld(t, map[string]string{
		"one/bin/expand": answers(`{"manifests":[{"kind":"deployment","name":"a","spec":{"image":"a:1"}}],"actions":[{"type":"config_set","scope":"prod","name":"two","kv":{"FROM":"one"}}]}`),
		"two/bin/expand": answers(`[{"kind":"deployment","name":"b","spec":{"image":"a:1"}}]`),
	})
	_, err := w.apply("[{kind: one, scope: prod, name: one, spec: {}}, {kind: two, scope: prod, name: two, spec: {}}]",
		verbs.ApplyOptions{DryRun: true})
	seen, _ := os.ReadFile(filepath.Join(w.dir, "two", "seen"))
	if err != nil || !strings.Contains(string(seen), `"config":{"FROM":"one"}`) {
		t.Errorf("the second was given %s, %v", seen, err)
	}
}

// TestAKindOfAnotherToolIsNoMissingPlugin: it gets what Tend has instead, unless a plugin has the name.
func TestAKindOfAnotherToolIsNoMissingPlugin(t *testing.T) {
	w := newWorld(t, map[string]string{
		"secret/bin/expand": answers(`[{"kind":"deployment","name":"a","spec":{"image":"a:1"}}]`)})
	for kind, want := range map[string]string{
		"daemonset": `mode = "global"`, "service": "ingress", "configmap": "tend config set", "cron": "cronjob",
		"pod": "deployment", "secret": "", "kv": "tend plugins install",
	} {
		_, err := w.apply("{kind: "+kind+", scope: prod, name: x, spec: {}}", verbs.ApplyOptions{})
		next := ""
		var fault *plugin.Error
		if errors.As(err, &fault) {
			next = fault.Next
		}
		if want == "" && err != nil || !strings.Contains(next, want) ||
			kind != "kv" && strings.Contains(next, "plugins install") {
			t.Errorf("%s: %v, next %q", kind, err, next)
		}
	}
}

// A macro names the plugin that it needs; a real apply installs it, a dry run never does.
func TestPluginOfAMacro(t *testing.T) {
	w := newWorld(t, nil)
	source := func(version string) string {
		dir := t.TempDir()
		for name, text := range map[string]string{"plugin.yml": "name: kv\nversion: " + version + "\n",
			"bin/expand": "#!/bin/sh\n" + answers(`[{"kind":"deployment","name":"x","spec":{"image":"a:`+version+`"}}]`)} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	one, two := source("1"), source("2")
	macro := func(block string) string { return "{kind: kv, scope: prod, name: cache, spec: {" + block + "}}" }
	with := func(version, repo string) string {
		return macro("plugin: {version: '" + version + "', repo: '" + repo + "'}")
	}
	image := func() string {
		if object := w.snapshot().Object(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "x"}); object.Exists() {
			return string(object.Value.Spec)
		}
		return ""
	}
	for _, step := range []struct {
		reason, macro string
		dry           bool
		part          string // of the error
		image         string
	}{
		{"no plugin, and nothing says where it is from", macro(""), false, `no plugin is named "kv"`, ""},
		{"a dry run installs nothing", with("1", one), true, "a dry run installs nothing", ""},
		{"a version alone has no source", macro("plugin: {version: '1'}"), false, "nothing says where it is from", ""},
		{"the apply installs it", with("1", one), false, "", `{"image":"a:1"}`},
		{"it is there", macro(""), false, "", `{"image":"a:1"}`},
		{"a dry run warns of another version", with("2", two), true, "", `{"image":"a:1"}`},
		{"another version replaces it", with("2", two), false, "", `{"image":"a:2"}`},
		{"a version its source doesn't have", with("3", ""), false, `version "2", not 3`, `{"image":"a:2"}`},
		{"a version behind the repository is the one asked for", macro("plugin: {repo: 'acme/kv@v2'}"), false,
			"", `{"image":"a:2"}`},
		{"and another one is warned of", macro("plugin: {repo: 'acme/kv@9'}"), true, "", `{"image":"a:2"}`},
		{"latest is from where it came", macro("plugin: {version: latest}"), false, "", `{"image":"a:2"}`},
	} {
		result, err := w.apply(step.macro, verbs.ApplyOptions{DryRun: step.dry})
		if step.part == "" && err != nil || step.part != "" && !strings.Contains(errorText(err), step.part) {
			t.Fatalf("%s: %v, want %q", step.reason, err, step.part)
		}
		if got := image(); got != step.image {
			t.Errorf("%s: stored is %s, want %s", step.reason, got, step.image)
		}
		if step.dry && err == nil && len(result.Macros[0].Warnings) != 1 {
			t.Errorf("%s: warnings are %v", step.reason, result.Macros[0].Warnings)
		}
	}
	w.env["TEND_PLUGIN_DEFAULT_REPO_KV"] = one
	if _, err := w.broker.Remove(t.Context(), "kv"); err != nil {
		t.Fatal(err)
	}
	if result, err := w.apply(macro("plugin: {version: '1'}"), verbs.ApplyOptions{}); err != nil ||
		result.Macros[0].Installed == nil || result.Macros[0].Installed.Source != one {
		t.Errorf("from the server's default: %+v, %v", result.Macros, err)
	}
}

// A field that a user writes into a plugin's block reaches the plugin, also in the block that Tend reads itself. A
// field that the plugin passes on to a kind without such a field is left out with a warning.
func TestUnknownFieldsReachThePlugin(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/plugin.yml": "version: 1\n",
		"kv/bin/expand": answers(`[{"kind":"statefulset","name":"cache","spec":{"image":"kv:1","sentinel":{"enabled":true},"probes":{}}}]`)})
	w.broker.Knows = manifest.HasField
	result, err := w.apply(`{kind: kv, scope: prod, name: cache, spec: {plugin: {version: '1', channel: beta}, sentinel: {enabled: true}, probes: {}}}`,
		verbs.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(filepath.Join(w.dir, "kv", "seen"))
	if err != nil || !strings.Contains(string(seen), `"plugin":{"channel":"beta"}`) ||
		strings.Contains(string(seen), "version") {
		t.Errorf("the plugin was given %s, %v", seen, err)
	}
	if warnings := result.Macros[0].Warnings; len(warnings) != 1 || !strings.Contains(warnings[0], "sentinel") {
		t.Errorf("warnings are %q", warnings)
	}
	object := w.snapshot().Object(api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "cache"})
	if !object.Exists() || string(object.Value.Spec) != `{"image":"kv:1","probes":{}}` {
		t.Errorf("stored is %+v", object.Value)
	}
}

// Prune removes objects that a macro no longer expands to.
func TestMacroPrune(t *testing.T) {
	w := newWorld(t, map[string]string{"kv/bin/expand": answers(twoAndActions)})
	opts := verbs.ApplyOptions{Set: "s", Prune: true}
	if _, err := w.apply(cache, opts); err != nil {
		t.Fatal(err)
	}
	w.lay(map[string]string{"kv/bin/expand": answers(`{"kind":"statefulset","name":"cache","spec":{"image":"kv:1"}}`)})
	result, err := w.apply(cache, opts)
	if diff := cmp.Diff([]api.Ref{{Kind: api.KindDeployment, Scope: "prod", Name: "cache-ui"}},
		result.Pruned); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestMacroErrorNamesTheMacro(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.apply(cache, verbs.ApplyOptions{})
	var macro *broker.MacroError
	var fault *plugin.Error
	if !errors.As(err, &macro) || macro.Macro.String() != "kv/prod/cache" || !errors.As(err, &fault) ||
		fault.Reason != plugin.NotFound {
		t.Errorf("got %v", err)
	}
}
