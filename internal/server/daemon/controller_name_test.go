package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/secret"
)

// TestPluginsGetTheControllersName: node_name and VOODU_NODE have the value of --name, not the machine's name.
func TestPluginsGetTheControllersName(t *testing.T) {
	m := newMachine(t)
	dir := filepath.Join(m.root, "plugins", "who", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\nread -r call; echo \"$VOODU_NODE $TEND_NODE $call\"\n"
	if err := os.WriteFile(filepath.Join(dir, "ami"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	r := m.startWith(func(o *Options) { o.Name = "s1" }).ready()
	answer, err := r.client.CallPlugin(t.Context(), "who", "ami", nil)
	said := strings.ReplaceAll(string(answer.Data), `\`, "")
	if err != nil || !strings.Contains(said, `"s1 s1 `) || !strings.Contains(said, `"node_name":"s1"`) {
		t.Errorf("%s, %v", said, err)
	}
}

// TestCallbackPath: the containers of every statefulset can call the server back; of deployments, only those that a
// plugin wrote.
func TestCallbackPath(t *testing.T) {
	keys, err := secret.Open(filepath.Join(t.TempDir(), "key"), "")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{keys: keys}
	for _, tc := range []struct {
		kind  api.Kind
		macro string
		want  bool
	}{
		{api.KindStatefulSet, "", true}, {api.KindStatefulSet, "kv/prod/db", true},
		{api.KindDeployment, "", false}, {api.KindDeployment, "kv/prod/db", true},
		{api.KindJob, "kv/prod/db", false},
	} {
		object := api.Object{Kind: tc.kind, Scope: "prod", Name: "db", Metadata: api.Metadata{UID: "u"}}
		if tc.macro != "" {
			object.Metadata.Stamps = map[string]string{api.StampMacro: tc.macro}
		}
		path := d.callbackPath(object)
		if got := strings.HasPrefix(path, "/t/prod.db."); got != tc.want || !got && path != "" {
			t.Errorf("%s of %q: %q", tc.kind, tc.macro, path)
		}
	}
}
