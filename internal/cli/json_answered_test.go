package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"tend.dev/tend/api"
)

// answeredCommands call a server for what the machine of jsonCommands doesn't have. An invented one answers them.
var answeredCommands = []jsonCommand{
	{"approve prod/restore --deny", aValue},
	{"backup verify FILE", noJSON}, // stderr says that the file holds none
	{"clusters add eu", aValue},
	{"config import prod/web app.env --no-wait", aValue},
	{"delete -f job.hcl --no-wait", aList},
	{"drain n1 --no-wait", aValue},
	{"ingress maintenance prod/web", aValue},
	{"ingress pause prod/web", aValue},
	{"ingress resume prod/web", aValue},
	{"keys rotate secrets", aList},
	{"keys rotate secrets --no-wait", aList},
	{"lab extend prod/one 1h", aValue},
	{"lab stop prod/one", aValue},
	{"nodes add", aValue},
	{"nodes confirm-down n1 --yes", aValue},
	{"nodes confirm-down n1 n2 --yes", aList},
	{"nodes ingress n1 on", aValue},
	{"nodes remove n1 --yes", aValue},
	{"nodes remove n1 n2 --yes", aList},
	{"nodes tokens revoke a1", aValue},
	{"plugins install acme/kv", aValue},
	{"plugins update", aList},
	{"plugins update kv", aValue},
	{"plugins remove kv", aValue},
	{"rebootstrap prod/web 0 --yes", aValue},
	{"reconcile prod/web", aValue},
	{"releases run prod/web", aValue},
	{"resume", aValue},
	{"servers remove b", aList},
	{"sinks test audit", aValue},
	{"sync add shop --git https://example.org/shop.git --scope prod --no-wait", aValue},
	{"sync now shop --no-wait", aValue},
	{"sync remove shop", aValue},
}

// answersAll answers each request with what its command reads on.
func answersAll(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	var answer any = map[string]any{}
	switch {
	case path[0] == "keys":
		answer = api.Keys{Items: []api.Key{{Name: api.KeySecrets, Fingerprint: "f00d", After: "a backup has the old one"}}}
	case path[0] == "servers":
		answer = api.Servers{Items: []api.Server{{Name: "a"}}}
	case path[0] == "plugins" && r.Method == http.MethodGet:
		answer = api.ListResult[api.Plugin]{Items: []api.Plugin{{Name: "kv", Source: "acme/kv"}, {Name: "ms", Source: "acme/ms"}}}
	case path[0] == "resume":
		answer = api.ResumeResult{Adopted: []string{"prod-web.a"}, Absent: []string{"n2"}}
	case path[0] == "objects" && len(path) == 2 && path[1] == string(api.KindDeployment):
		answer = api.ListResult[api.Object]{Items: []api.Object{{Kind: api.KindDeployment, Scope: "prod", Name: "web"}}}
	case path[0] == "objects" && len(path) == 4 && r.Method == http.MethodGet:
		answer = api.Object{Kind: api.Kind(path[1]), Scope: path[2], Name: path[3]}
	case path[0] == "runs":
		answer = api.Run{ID: "r1", State: api.RunSucceeded}
	case path[0] == "apply":
		answer = api.ApplyResult{Objects: []api.ObjectResult{{}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// TestAnsweredCommandsPrintOneValue: stdout has what a program reads, and nothing else, in both of its formats.
func TestAnsweredCommandsPrintOneValue(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(answersAll))
	defer server.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"app.env": "A=1\n", "FILE": "no backup",
		"job.hcl": `job "prod" "import" { image = "crash:1" }`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, tc := range answeredCommands {
		for _, format := range []string{"json", "yaml"} {
			var out, said bytes.Buffer
			root := newRoot(streams{in: strings.NewReader(""), out: &out, err: &said})
			root.SetArgs(append([]string{"-o", format, "--server", server.URL}, strings.Fields(tc.line)...))
			err := root.Execute()
			text := out.Bytes()
			if format == "yaml" && tc.want != noJSON {
				var broken error
				if text, broken = yaml.YAMLToJSON(text); broken != nil {
					text = out.Bytes()
				}
			}
			if got := shapeOf(text); got != tc.want {
				t.Errorf("tend %s -o %s prints %s, want %s: %v\n%s%s", tc.line, format, got, tc.want, err, out.String(),
					said.String())
			}
		}
	}
}
