package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/manifest"
)

// For a plugin, the client sends only source below the manifest's folder, or that the macro itself names: nothing else
// of this machine.
func TestSourceOfAMacro(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "deploy", "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(base, "deploy", "leads-out")); err != nil {
		t.Fatal(err)
	}
	macro := api.Ref{Kind: "kv", Scope: "prod", Name: "a"}
	for name, c := range map[string]struct{ reason, spec, context, want, refused string }{
		"here":        {"no context is the manifest's folder", `{}`, "", "deploy", ""},
		"below":       {"a folder of it", `{}`, "src", "deploy/src", ""},
		"named above": {"the person wrote it", `{"build":{"context":".."}}`, "..", ".", ""},
		"above":       {"the plugin alone wants it", `{}`, "..", "", "outside of the manifest's folder"},
		"absolute": {"a folder of the machine", `{"build":{"context":"src"}}`, "/etc", "",
			"outside of the manifest's folder"},
		"through a link":  {"what it leads to is elsewhere", `{}`, "leads-out", "", "outside of the manifest's folder"},
		"not there":       {"packing says so", `{}`, "none", "deploy/none", ""},
		"build of a text": {"another field of that name", `{"build":"src"}`, "..", "", "outside of the manifest's folder"},
	} {
		loaded := manifest.Result{Objects: []api.Object{{Kind: macro.Kind, Scope: macro.Scope, Name: macro.Name,
			Spec: json.RawMessage(c.spec)}},
			Origin: map[api.Ref]manifest.Position{macro: {File: filepath.Join(base, "deploy", "app.hcl")}}}
		got, err := sourceOf(api.MacroBuild{Macro: macro, Object: api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "a"},
			Build: api.Build{Context: c.context}}, loaded)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %s: %+v, %v", name, c.reason, got, err)
			}
			continue
		}
		if err != nil || got.Folder != filepath.Join(base, c.want) {
			t.Errorf("%s: %s: %s, %v", name, c.reason, got.Folder, err)
		}
	}
	if _, err := sourceOf(api.MacroBuild{Macro: macro}, manifest.Result{}); err == nil {
		t.Error("a macro that was not applied has a source")
	}
}
