package recipe

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestConfine: anything that makes the engine fetch a URL is refused, in every form that some engine's parser accepts.
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

// TestABaseThatNobodyCanTellIsUnclear: a confined build is refused where an engine could take another image than the
// one that is checked. What no engine sees differently is not.
func TestABaseThatNobodyCanTellIsUnclear(t *testing.T) {
	args := map[string]string{"BUILDARCH": "given.example", "G": "given.example"}
	for text, want := range map[string]struct {
		bases   []string
		unclear bool
	}{
		"ARG H=127.0.0.1:5000\nARG R=$H\nFROM $R/x":                             {[]string{"127.0.0.1:5000/x"}, false},
		"ARG H=\"127.0.0.1\"\nARG R=${H}:5000\nFROM ${R}/x:1":                   {[]string{"127.0.0.1:5000/x:1"}, false},
		"FROM localhost:5000/x:${TARGETSTAGE}":                                  {[]string{"localhost:5000/x:default"}, false},
		"FROM golang:1-${BUILDOS}":                                              {[]string{"golang:1-linux"}, false},
		"ARG G\nFROM $G/x":                                                      {[]string{"given.example/x"}, false},
		"ARG TARGETOS\nFROM a/x:$TARGETOS":                                      {[]string{"a/x:linux"}, false},
		"FROM localhost:5000/x:${UNKNOWN}":                                      {nil, true},
		"FROM ${UNKNOWN:-a.example}/x":                                          {nil, true},
		"FROM ${TARGETOS:+127.0.0.1:5000/}x":                                    {nil, true},
		"FROM ${TARGETVARIANT:-127.0.0.1:5000}/x":                               {[]string{"127.0.0.1:5000/x"}, true},
		"FROM ${BUILDARCH:-127.0.0.1:5000}/x":                                   {[]string{"given.example/x"}, true},
		"ARG R=${TARGETARCH:-127.0.0.1:5000}\nFROM localhost${TARGETVARIANT}/x": {[]string{"localhost/x"}, true},
		"FROM localhost${TARGETOS:-:5000/x}":                                    {[]string{"localhostlinux"}, true},
		"ARG A=good\nARG R=${A#go}\nARG R\nFROM $R/x":                           {nil, true},
		"FROM a\nCOPY --from=$X b c":                                            {[]string{"a"}, true},
		"FROM a\nRUN --mount=type=bind,From=b/c,target=/x true":                 {[]string{"a", "b/c"}, false},
		"FROM a\nRUN --mount=type=bind,\"from=b/c\",target=/x true":             {[]string{"a", "b/c"}, false},
		"FROM a\nONBUILD COPY --from=b/c d e":                                   {[]string{"a", "b/c"}, false},
		"FROM a\\b/x":                                                           {nil, true},
		"RUN <<E":                                                               {nil, true},
	} {
		recipe, err := Decide(fstest.MapFS{"Dockerfile": {Data: []byte(text)}}, api.Build{Args: args}, "")
		if err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(want.bases, recipe.Bases)
		refused := recipe.Confine(fstest.MapFS{"Dockerfile": {Data: []byte(text)}}, nil)
		if diff != "" || want.unclear != (refused != nil) {
			t.Errorf("%q: %v\n%s", text, refused, diff)
		}
	}
}
