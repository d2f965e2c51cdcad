package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestErrorsAreJSON: with -o json or yaml, whatever fails, the last line on stderr is one object with the exit code,
// and nothing of it is on stdout. With any other output it is text.
func TestErrorsAreJSON(t *testing.T) {
	m, err := newMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"web.hcl":    "deployment \"prod\" \"web\" {\n  image = \"web:1\"\n  ports = [\"8080:80\"]\n}",
		"crash.hcl":  `deployment "prod" "crash" { image = "crash:1" }`,
		"slow.hcl":   "deployment \"prod\" \"slow\" {\n image = \"web:1\"\n strategy {\n monitor = \"1h\"\n deadline = \"1h\"\n }\n}",
		"taken.hcl":  "deployment \"prod\" \"other\" {\n  image = \"web:1\"\n  ports = [\"8080:81\"]\n}",
		"broken.hcl": "deployment \"prod\" \"web\" {\n  imagee = \"web:1\"\n  replicas = \"many\"\n}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, said := m.run("apply -f web.hcl"); code != 0 {
		t.Fatal(said)
	}
	away := "--server unix:///nowhere/tend.sock "
	for name, tc := range map[string]struct {
		reason, line string
		want         failure
		faults       int
	}{
		"absent": {"the command finds no such object", "describe prod/wbe",
			failure{Title: "NotFound", Detail: "there is no prod/wbe; did you mean prod/web?", Next: "`tend get` lists",
				ExitCode: 1}, 0},
		"refused": {"the server refuses it", "rollback prod/web v9",
			failure{Title: "NotFound", Status: 404, Detail: "v9: there is only v1", Next: "change the manifest and apply it",
				ExitCode: 1}, 0},
		"invalid": {"every fault of a manifest is one of errors", "apply -f broken.hcl",
			failure{Title: "Invalid", Detail: "broken.hcl:2:", ExitCode: 1}, 2},
		"conflict": {"so is every fault that the server finds, with the server's reason", "apply -f taken.hcl",
			failure{Title: "PortTaken", Status: 409, Detail: "nothing was stored", Next: "choose another port of the host",
				ExitCode: 1}, 1},
		"unreachable": {"no server answers", away + "get",
			failure{Title: "Unreachable", Detail: "no server answers at unix:///nowhere/tend.sock", Next: "correct --server, or start that server",
				ExitCode: 1}, 0},
		"no file": {"a file isn't there", "apply -f wbe.hcl",
			failure{Title: "Error", Detail: "there is no file wbe.hcl in ", Next: "did you mean web.hcl?",
				ExitCode: 1}, 0},
		"flag": {"-o stands behind a flag that can't be read", "get --nope",
			failure{Title: "Error", Detail: "unknown flag: --nope", Next: "`tend get --help`", ExitCode: 1}, 0},
		"flag with a value": {"and its value", "get --nope 1 pods",
			failure{Title: "Error", Detail: "unknown flag: --nope", Next: "`tend get --help`", ExitCode: 1}, 0},
		"command": {"no command has the name, nor a plugin", "xyzzy",
			failure{Title: "Error", Detail: "unknown command \"xyzzy\"", ExitCode: 1}, 0},
		"argument": {"an argument is missing", "scale prod/web",
			failure{Title: "Error", Detail: "tend scale", ExitCode: 1}, 0},
		"exclusive": {"flags exclude each other", "sync add x --trusted --git https://example.org/x --dir /x",
			failure{Title: "Error", Detail: "--dir and --git exclude each other: choose one",
				Next: "`tend sync add --help`", ExitCode: 1}, 0},
		"failed": {"what was applied ends", "apply -f crash.hcl",
			failure{Title: "NotConverged", Detail: "fatal: DATABASE_URL is not set", ExitCode: 2}, 0},
		"late": {"the time passes", "apply -f slow.hcl --timeout 1s",
			failure{Title: "Timeout", Detail: "not done after 1s", ExitCode: 3}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			formats := []string{"json", "yaml"}
			if tc.want.ExitCode > 1 {
				formats = formats[:1] // each try takes seconds
			}
			for _, format := range formats {
				code, out, said := m.run(tc.line + " -o " + format)
				lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
				got := failure{}
				decoder := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(&got); err != nil || decoder.More() || strings.Contains(said, "error: ") {
					t.Fatalf("%s: %v in %q", tc.reason, err, said)
				}
				want := tc.want
				next := strings.HasPrefix(got.Next, want.Next) && (want.Next == "") == (got.Next == "")
				if got.Title != want.Title || got.Status != want.Status || !strings.Contains(got.Detail, want.Detail) ||
					!next || got.ExitCode != want.ExitCode || code != want.ExitCode ||
					len(got.Errors) != tc.faults {
					t.Errorf("%s: it ends with %d and says %+v, want %+v", tc.reason, code, got, want)
				}
				if shape := shapeOf([]byte(out)); shape != noJSON && shape != aValue {
					t.Errorf("stdout has %s: %q", shape, out)
				}
			}
			if tc.want.ExitCode > 1 {
				return
			}
			code, _, said := m.run(tc.line)
			if !strings.Contains("\n"+said, "\nerror: ") || code != tc.want.ExitCode {
				t.Errorf("without -o it ends with %d and says %q", code, said)
			}
		})
	}
}

// run runs a command line as Main does, and returns the exit code and what the streams got.
func (m *machine) run(line string) (code int, out, said string) { return m.runWith("", line) }

// runWith does so with a text on the standard input.
func (m *machine) runWith(stdin, line string) (code int, out, said string) {
	var stdout, stderr bytes.Buffer
	args := strings.Fields(line)
	if !strings.Contains(line, "--server") {
		args = append([]string{"--server", m.url()}, args...)
	}
	code = streams{in: strings.NewReader(stdin), out: &stdout, err: &stderr}.run(context.Background(), args)
	return code, stdout.String(), stderr.String()
}
