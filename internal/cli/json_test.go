package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// jsonShape describes what a command prints with -o json.
type jsonShape string

const (
	aList   jsonShape = "an object with items"
	aValue  jsonShape = "an object"
	aStream jsonShape = "an object a line"
	noJSON  jsonShape = "nothing"
)

type jsonCommand struct {
	line string
	want jsonShape
}

// jsonCommands are the commands that call a server, in the order in which the test runs them.
var jsonCommands = []jsonCommand{
	{"get", aList},
	{"apply -f web.hcl", aValue},
	{"diff -f web.hcl", aValue},
	{"apply -f job.hcl", aValue},
	{"get", aList},
	{"get deployments", aList},
	{"get deployment prod/web", aValue},
	{"get pods", aList},
	{"get pods prod/web", aList},
	{"get nodes", aList},
	{"get lab", aList},
	{"describe prod/web", aValue},
	{"describe node n1", aValue},
	{"releases prod/web", aList},
	{"run prod/import", aValue},
	{"runs", aList},
	{"runs prod/import", aList},
	{"events", aList},
	{"events prod/web --since oldest", aList},
	{"events --type finalized", aList},
	{"history prod/web", aList},
	{"audit", aList},
	{"blame prod/web", aList},
	{"stats", aList},
	{"system df", aList},
	{"system prune", aList},
	{"nodes", aList},
	{"nodes tokens", aList},
	{"tokens", aList},
	{"tokens add ci --role viewer", aValue},
	{"tokens revoke ci", aValue},
	{"sinks", aList},
	{"clusters", aList},
	{"servers", aList},
	{"keys", aList},
	{"sync", aList},
	{"sync list", aList},
	{"plugins", aList},
	{"plugins list", aList},
	{"config set prod/web A=1", aValue},
	{"config get prod/web A", aValue},
	{"config list prod/web", aValue},
	{"config unset prod/web A", aValue},
	{"scale prod/web 2", aValue},
	{"logs prod/web", aStream},
	{"restart prod/web", aValue},
	{"stop prod/web", aValue},
	{"start prod/web", aValue},
	{"rebalance", aValue},
	{"cordon n1", aValue},
	{"uncordon n1", aValue},
	{"apply -f web2.hcl", aValue},
	{"rollback prod/web", aValue},
	{"backup status", aValue},
	{"version", aValue},
	{"delete prod/web", aList},
}

// otherCommands are those that no test runs: they print a manifest, the name of its file or a certificate, and no
// values; they need what tests don't have, or they run on.
var otherCommands = strings.Fields("adopt,compose agent completion dev exec fmt import ingress,ca init restore schema server toy")

// TestEveryCommandIsTriedWithJSON: a new command is one of those whose output is compared, or it is named as another.
func TestEveryCommandIsTriedWithJSON(t *testing.T) {
	var walk func(words string, command *cobra.Command)
	walk = func(words string, command *cobra.Command) {
		for _, below := range command.Commands() {
			path := strings.TrimSpace(words + " " + below.Name())
			tried := slices.ContainsFunc(slices.Concat(jsonCommands, answeredCommands), func(c jsonCommand) bool {
				return strings.HasPrefix(c.line+" ", path+" ")
			})
			other := slices.ContainsFunc(otherCommands, func(c string) bool {
				c = strings.ReplaceAll(c, ",", " ")
				return strings.HasPrefix(path+" ", c+" ") || strings.HasPrefix(c, path+" ")
			})
			if below.IsAvailableCommand() && !tried && !other {
				t.Errorf("tend %s is in neither table", path)
			}
			walk(path, below)
		}
	}
	walk("", newRoot(streams{}))
}

// TestJSON: every list is an object with items, whatever it is a list of and also if it is empty. Anything else prints
// one object, or an object a line.
func TestJSON(t *testing.T) {
	m, err := newMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"web.hcl": "deployment \"prod\" \"web\" {\n  image = \"web:1\"\n" +
			"  strategy {\n    monitor = \"10ms\"\n    pause = \"0s\"\n  }\n}",
		"web2.hcl": "deployment \"prod\" \"web\" {\n  image = \"web:2\"\n" +
			"  strategy {\n    monitor = \"10ms\"\n    pause = \"0s\"\n  }\n}",
		"job.hcl": `job "prod" "import" { image = "crash:1" }`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, tc := range jsonCommands {
		var out, said bytes.Buffer
		root := newRoot(streams{in: strings.NewReader(""), out: &out, err: &said})
		root.SetArgs(append([]string{"-o", "json", "--server", m.url()}, strings.Fields(tc.line)...))
		err := root.Execute()
		if got := shapeOf(out.Bytes()); got != tc.want {
			t.Errorf("tend %s prints %s, want %s: %v\n%s%s", tc.line, got, tc.want, err, out.String(), said.String())
		}
	}
}

// shapeOf returns what a text is.
func shapeOf(text []byte) jsonShape {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var values []json.RawMessage
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return jsonShape("no JSON: " + err.Error())
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return noJSON
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(values[0], &fields) != nil {
		return jsonShape("a bare " + string(values[0][:1]))
	}
	var items []json.RawMessage
	switch raw, has := fields["items"]; {
	case has && json.Unmarshal(raw, &items) == nil && items != nil && len(values) == 1:
		return aList
	case has:
		return "items that are no list"
	case len(values) == 1:
		return aValue
	}
	return aStream
}
