package recipe

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestConfine: whatever makes the engine fetch a URL is refused, in every form that some engine's parser takes.
func TestConfine(t *testing.T) {
	for text, line := range map[string]string{
		"FROM a\nADD http://127.0.0.1:2375/x /x":                        "line 2: ADD fetches no URL",
		"FROM a\n add --chown=1:1 HTTPS://x /x":                         "line 2: ADD",
		"FROM a\nADD\vhttp://x /x":                                      "line 2: ADD",
		"FROM a\nADD [\"http\\u003a//x\", \"/x\"]":                      "line 2: ADD",
		"FROM a\nARG U\nADD ${U} /x":                                    "line 3: ADD",
		"FROM a\nADD git@host:x.git /x":                                 "line 2: ADD",
		"FROM a\nADD \\\n http://x /x":                                  "line 2: ADD",
		"FROM a\nAD\\ \nD http://x /x":                                  "line 2: write ADD",
		"# escape=`\nFROM a\nA`\n# between\nDD http://x /x":             "line 3: write ADD",
		"FROM a\nRUN x <<CMD\nADD http://x /x\nCMD":                     "line 3: ADD",
		"FROM a\nRUN x \\\\\nADD http://x /x":                           "line 3: ADD",
		"FROM a\nONBUILD  ADD http://x /x":                              "line 2: ADD",
		"# syntax=attacker/frontend\nFROM a":                            "line 1: the syntax is attacker/frontend",
		"# what=ever\n#SYNTAX = docker/dockerfile-upstream\nFROM a":     "line 2: the syntax",
		"//syntax=attacker/frontend:1\nFROM a":                          "line 1: the syntax",
		"{\"syntax\":\"attacker/frontend\"}":                            "the Dockerfile is empty",
		"\ufeff# syntax=docker/dockerfile:1.attacker.example/x\nFROM a": "line 1: the syntax",
		"": "the Dockerfile is empty",
		"FROM a\n" + strings.Repeat("# much\n", maxRead/7) + "ADD http://x /x": "the Dockerfile is empty, larger",
	} {
		tree := fstest.MapFS{"Dockerfile": {Data: []byte(text)}}
		recipe, err := Decide(tree, api.Build{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := recipe.Confine(tree, nil); err == nil || !strings.HasPrefix(err.Error(), line) ||
			!strings.HasSuffix(err.Error(), "no admin declared this build") {
			t.Errorf("%.80q: %v, want %s", text, err, line)
		}
	}
	for _, text := range []string{
		"# syntax=docker/dockerfile:1.7-labs@sha256:0a\nFROM a\nADD --chown=1:1 rootfs.tar.gz . /\nRUN wget http://x && echo ADD",
		"FROM a\nADD <<EOF /etc/conf\nx\nEOF", "FROM a\nCOPY . /app\nENV A=http://x\nADD . /app",
	} {
		tree := fstest.MapFS{"Dockerfile": {Data: []byte(text)}}
		recipe, _ := Decide(tree, api.Build{}, "")
		if err := recipe.Confine(tree, map[string]string{"VERSION": "1"}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := recipe.Confine(tree, map[string]string{"buildkit_SYNTAX": "attacker/frontend"}); err == nil {
			t.Errorf("%q: an argument names another frontend", text)
		}
	}
	tree := fstest.MapFS{"go.mod": {Data: []byte("module x\ngo 1.26\n")}, "main.go": {Data: []byte("package main\n")}}
	recipe, err := Decide(tree, api.Build{Lang: &api.BuildLang{Version: "1\nADD http://x /x\n#"}}, "")
	if err != nil || recipe.Confine(tree, nil) == nil {
		t.Errorf("a version that is an instruction: %v", err)
	}
}

// TestBasesAreAllThatIsTaken: also by a variable, by COPY and by a mount.
func TestBasesAreAllThatIsTaken(t *testing.T) {
	text := "ARG A=one:1\nARG B=\"two\"\nARG C\nFROM $A AS first\nFROM ${B}:2\nARG A=other\nFROM ${C:-three}\nCOPY --from=first x y\nCOPY --from=0 x y\n" +
		"COPY --from=bank-built:latest x y\nRUN --mount=type=bind,from=bank-other,target=/x true\nFROM scratch\nCOPY --from=one:1 a b\n"
	recipe, err := Decide(fstest.MapFS{"Dockerfile": {Data: []byte(text)}},
		api.Build{Args: map[string]string{"B": "given"}}, "")
	if diff := cmp.Diff([]string{"one:1", "given:2", "three", "bank-built:latest", "bank-other"},
		recipe.Bases); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
