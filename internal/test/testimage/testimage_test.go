package testimage

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func TestArchiveDependsOnSourceAndVersionAlone(t *testing.T) {
	first, id, err := archive([]byte("binary"), "v1", []string{"a:1", "b"})
	if err != nil {
		t.Fatal(err)
	}
	second, again, _ := archive([]byte("binary"), "v1", []string{"a:1", "b"})
	if !bytes.Equal(first, second) || id != again {
		t.Error("two archives of one version differ")
	}
	if _, other, _ := archive([]byte("binary"), "v2", nil); other == id {
		t.Error("another version has the same image id")
	}
	if !bytes.Contains(first, []byte(`"RepoTags":["a:1","b:latest"]`)) {
		t.Error("the archive does not name its tags in full")
	}
}

func TestServerProgram(t *testing.T) {
	path, err := Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason string
		args   []string
		code   int
		output string
	}{
		"exit":    {"the code asked for is the code it ends with", []string{"exit", "3"}, 3, ""},
		"print":   {"lines are numbered", []string{"print", "2"}, 0, "line 1\nline 2\n"},
		"wide":    {"a width pads the line", []string{"print", "1", "10"}, 0, "line 1xxxx\n"},
		"unknown": {"a misspelled command starts no server", []string{"serv"}, 2, "unknown command \"serv\"\n"},
		"serve":   {"the server can end by itself", []string{"-exit-after=1ms", "-exit-code=4", "-port=0"}, 4, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), path, test.args...)
			output, _ := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != test.code {
				t.Errorf("%s: exit code %d, want %d", test.reason, code, test.code)
			}
			if !strings.HasPrefix(string(output), test.output) {
				t.Errorf("%s: printed %q, want %q", test.reason, output, test.output)
			}
		})
	}
}
