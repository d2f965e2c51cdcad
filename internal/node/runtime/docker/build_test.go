package docker

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// follow reads an engine's answer to a build.
func follow(answer string) (lines []string, read *buildOutput, err error) {
	read = newBuildOutput(func(line string) { lines = append(lines, line) })
	err = read.read(json.NewDecoder(strings.NewReader(answer)))
	return lines, read, err
}

func TestBuildOutputIsRead(t *testing.T) {
	lines, read, err := follow(`{"stream":"Step 1/2 : FROM scratch"}{"stream":"\n"}
{"status":"Pulling fs layer","id":"a","progressDetail":{}}{"status":"Downloading","id":"a","progressDetail":{"current":1,"total":9}}
{"stream":"half a "}{"stream":"line\r\nand another\n"}{"stream":"Step 2/2 : RUN [\"make\"]\n"}{"stream":"no end"}{"aux":{"ID":"sha256:1"}}`)
	want := []string{"Step 1/2 : FROM scratch", "a: Pulling fs layer", "half a line", "and another",
		`Step 2/2 : RUN ["make"]`, "no end"}
	if err != nil || !slices.Equal(lines, want) || read.step != `2/2 RUN ["make"]` {
		t.Errorf("%q, %q, %v", lines, read.step, err)
	}
	long, _, err := follow(`{"stream":"` + strings.Repeat("x", 3*maxBuildLine) + `"}`)
	if err != nil || len(long) != 3 || len(long[0]) != maxBuildLine {
		t.Errorf("%d lines of a long one, %v", len(long), err)
	}
}

// onN1 is the runtime of a node whose engine is never asked.
var onN1 = &Runtime{options: Options{Node: "n1"}}

func TestWhoseFaultAFailedBuildIs(t *testing.T) {
	for name, test := range map[string]struct {
		answer, reason, says string
		transient            bool
	}{
		"a step": {
			`{"stream":"Step 3/4 : RUN make\n"}{"errorDetail":{"code":2,"message":"The command '/bin/sh -c make' returned a non-zero code: 2"},"error":"x"}`,
			api.ReasonBuildFailed, "step 3/4 RUN make: The command", false,
		},
		"a base image": {
			`{"stream":"Step 1/4 : FROM ghcr.io/o/base:1 AS build\n"}{"errorDetail":{"message":"manifest for ghcr.io/o/base:1 not found: manifest unknown"}}`,
			"ImageNotFound", "ghcr.io has no image o/base:1 (correct `FROM`, or push it; then apply again)", false,
		},
		"what a base image adds": {
			`{"stream":"Step 1/4 : FROM ghcr.io/o/base:1\n"}{"stream":"# Executing 1 build trigger\n"}{"errorDetail":{"message":"ADD failed: no page"}}`,
			api.ReasonBuildFailed, "step 1/4 FROM ghcr.io/o/base:1: ADD failed: no page", false,
		},
		"a registry that is down": {
			`{"stream":"Step 1/4 : FROM reg.local:5000/base\n"}{"errorDetail":{"message":"Get http://reg.local:5000/v2/: dial tcp: connection refused"}}`,
			"RegistryUnreachable", "node n1 can't pull reg.local:5000/base: reg.local:5000 refuses connections", true,
		},
		"a full disk": {
			`{"stream":"Step 2/4 : COPY . .\n"}{"errorDetail":{"message":"write /x: no space left on device"}}`,
			"DiskFull", "the build of the image failed: node n1 has no disk space left (free space on node n1 (tend system prune); Tend retries)", true,
		},
		"BuildKit": {
			`{"stream":"Step 2/4 : RUN x\n"}{"errorDetail":{"message":"the --mount option requires BuildKit. Refer to the docs"}}`,
			api.ReasonBuildFailed, "classic builder", false,
		},
	} {
		_, read, err := follow(test.answer)
		if err == nil {
			t.Errorf("%s: it went well", name)
			continue
		}
		fault := onN1.buildFault(read.step, read.base, err)
		var rejected *runtime.RejectedError
		var transient *runtime.TransientError
		reason := ""
		switch {
		case errors.As(fault, &rejected):
			reason = rejected.Reason
		case errors.As(fault, &transient):
			reason = transient.Reason
		}
		if reason != test.reason || !strings.Contains(fault.Error(), test.says) || (transient != nil) != test.transient {
			t.Errorf("%s: %s: %v", name, reason, fault)
		}
	}
	_, read, err := follow(`{"stream":"Step 2/4 : RUN x\n"}{"stream`)
	if fault := onN1.buildFault(read.step, read.base, err); !errors.Is(fault, runtime.ErrUnavailable) {
		t.Errorf("an answer that was cut: %v", fault)
	}
	if errors.Is(err, io.EOF) {
		t.Error("an answer that was cut is taken for its end")
	}
}

// oldEngine is a fake engine that builds nothing and records the requested builder.
func oldEngine(t *testing.T, builder string) (host string, asked *string) {
	asked = new(string)
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("API-Version", "1.41")
		w.Header().Set("Builder-Version", builder)
	})
	mux.HandleFunc("/v1.41/build", func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.Query().Get("version")
		_, _ = io.WriteString(w, `{"errorDetail":{"message":"enough"}}`)
	})
	server := httptest.NewServer(mux) // a session is not found
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http://", "tcp://", 1), asked
}

// TestAnEngineWithoutBuildKit builds with the classic builder, and says so where that can't do it.
func TestAnEngineWithoutBuildKit(t *testing.T) {
	for builder, reason := range map[string]string{"1": "the engine prefers the classic one", "": "the session is refused",
		"2": "the session is refused"} {
		host, asked := oldEngine(t, builder)
		rt, err := New(t.Context(), Options{Host: host, Cluster: "c", Node: "n"})
		if err != nil {
			t.Fatal(err)
		}
		build := func(spec runtime.BuildSpec) error {
			_, err := rt.Build(t.Context(), spec, func(string) {})
			return err
		}
		if err := build(runtime.BuildSpec{}); err == nil || *asked != "1" {
			t.Errorf("Builder-Version %q (%s): asked for builder %q, %v", builder, reason, *asked, err)
		}
		*asked = ""
		needs := errors.New("Dockerfile:2: RUN --mount needs BuildKit")
		if err := build(runtime.BuildSpec{BuildKit: needs}); err == nil ||
			!strings.Contains(err.Error(), needs.Error()) || *asked != "" {
			t.Errorf("Builder-Version %q: a Dockerfile that needs BuildKit: %v, asked %q", builder, err, *asked)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// proto encodes a message of BuildKit's: pairs of a field and a text, a message or true.
func proto(fields ...any) (out []byte) {
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch value := fields[i+1].(type) {
		case string:
			out = protowire.AppendString(protowire.AppendTag(out, number, protowire.BytesType), value)
		case []byte:
			out = protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), value)
		case bool:
			out = protowire.AppendVarint(protowire.AppendTag(out, number, protowire.VarintType), protowire.EncodeBool(value))
		}
	}
	return out
}

func traced(fields ...any) string {
	aux, _ := json.Marshal(proto(fields...))
	return `{"id":"moby.buildkit.trace","aux":` + string(aux) + `}`
}

// TestAnAnswerOfALookupIsNotShown: what BuildKit logs while it looks for a base image may quote a registry.
func TestAnAnswerOfALookupIsNotShown(t *testing.T) {
	now := proto(1, true)
	answer := traced(1, proto(1, "m", 3, "[internal] load metadata for evil.example/base:1", 5, now)) +
		traced(1, proto(1, "f", 3, "[1/2] FROM evil.example/base:1", 5, now), 1, proto(1, "r", 3, "[2/2] RUN make", 5, now)) +
		traced(1, proto(1, "o", 3, "FROM evil.example/other:1", 5, now), 3, proto(1, "o", 4, []byte("SECRET\n"))) +
		traced(3, proto(1, "m", 4, []byte("500 of http://10.0.0.1/: SECRET\n")), 3, proto(1, "f", 4, []byte("SECRET\n"))) +
		traced(3, proto(1, "r", 4, []byte("made\n")))
	for confined, secrets := range map[bool]int{false: 3, true: 0} {
		var said []string
		o := newBuildOutput(func(line string) { said = append(said, line) })
		o.trace.confined = confined
		err := o.read(json.NewDecoder(strings.NewReader(answer)))
		text := strings.Join(said, "\n")
		if err != nil || strings.Count(text, "SECRET") != secrets || !strings.Contains(text, "made") {
			t.Errorf("confined: %t: %v\n%s", confined, err, text)
		}
	}
}

// TestOwnFaults: a confined build shows what its own source did, and no text in which a registry may have put words.
func TestOwnFaults(t *testing.T) {
	for text, own := range map[string]bool{
		"dockerfile parse error on line 2: unknown instruction: BREW":                                                 true,
		"failed to solve with frontend dockerfile.v0: failed to create LLB definition: dockerfile parse error line 2": true,
		`process "/server http://nowhere" did not complete successfully: exit code: 3`:                                true,
		"The command '/server http://nowhere' returned a non-zero code: 3":                                            true,
		"executor failed running [/server http://nowhere]: exit code: 3":                                              true,
		`failed to compute cache key: "/nothing" not found: not found`:                                                true,
		"COPY failed: file not found in build context: stat nothing: file does not exist":                             true,

		`Get "http://10.0.0.1:22/?unknown instruction": malformed HTTP response "SSH-2.0"`:       false,
		`Get "http://10.0.0.1:22/?dockerfile parse error": malformed HTTP response "SSH-2.0"`:    false,
		"failed to do request: dockerfile parse error: SSH-2.0":                                  false,
		`Get "http://10.0.0.1:22/": malformed HTTP response "SSH-2.0 exit code: 3"`:              false,
		`unexpected status from GET http://10.0.0.1/?exit code: 3`:                               false,
		`failed to compute cache key: Get "http://10.0.0.1/": not found`:                         false,
		`ADD failed: Get "http://10.0.0.1:22/": malformed HTTP response "SSH-2.0"`:               false,
		`dockerfile parse error on line 2: Get "http://10.0.0.1/": malformed response "SSH-2.0"`: false,
	} {
		if got := ownFault(text); got != own {
			t.Errorf("%s: own fault: %t", text, got)
		}
	}
}

// TestBuildKitProgressIsRead: steps that run beside each other are kept apart, and the one that failed is named.
func TestBuildKitProgressIsRead(t *testing.T) {
	now := proto(1, true)
	lines, read, err := follow(
		traced(1, proto(1, "m", 3, "[internal] load metadata for docker.io/library/golang:1", 5, now)) +
			traced(1, proto(1, "c", 3, "[2/3] COPY . .", 4, true, 5, now, 6, now)) +
			traced(1, proto(1, "a", 3, "[build 2/2] RUN make", 5, now), 1, proto(1, "b", 3, "[3/3] RUN test", 5, now)) +
			traced(3, proto(1, "a", 4, []byte("half a ")), 3, proto(1, "b", 4, []byte("of b\r\n"))) +
			traced(3, proto(1, "a", 4, []byte("line\n"))) + traced(99, "unknown", 3, proto(1, "nobody", 4, []byte("x\n"))) +
			traced(1, proto(1, "b", 3, "[3/3] RUN test", 5, now, 6, now, 7, "context canceled")) +
			traced(1, proto(1, "a", 3, "[build 2/2] RUN make", 5, now, 6, now, 7, "exit code: 2")) +
			`{"errorDetail":{"message":"exit code: 2"}}`)
	want := []string{
		"Looking up docker.io/library/golang:1", "Step 2/3 : COPY . .", " ---> Using cache", "Step 2/2 : [build] RUN make",
		"Step 3/3 : RUN test", "of b", "Step 2/2 : [build] RUN make", "half a line",
	}
	if diff := cmp.Diff(want, lines); diff != "" || err == nil || read.step != "2/2 [build] RUN make" || read.base != "" {
		t.Errorf("%v, step %q, base %q\n%s", err, read.step, read.base, diff)
	}
	_, read, err = follow(traced(1,
		proto(1, "m", 3, "[internal] load metadata for docker.io/library/golang:1", 5, now, 7, "not found")) +
		`{"errorDetail":{"message":"docker.io/library/golang:1: not found"}}`)
	var rejected *runtime.RejectedError
	if fault := onN1.buildFault(read.step, read.base, err); !errors.As(fault, &rejected) || rejected.Reason != "ImageNotFound" {
		t.Errorf("a base image that isn't there: %v", fault)
	}
	if _, _, err := follow(`{"id":"moby.buildkit.trace","aux":{}}`); err == nil {
		t.Error("progress that can't be read was taken")
	}
}

// TestBuildKitDropsProgress: on a loaded machine BuildKit reports steps only by name. They are shown, and a failed one
// is found by its command.
func TestBuildKitDropsProgress(t *testing.T) {
	named := func(failing string) string {
		return traced(1, proto(1, "i", 3, "[internal] load build definition from Dockerfile")) +
			traced(1, proto(1, "a", 3, "[build 1/3] COPY . .")) + traced(1, proto(1, "b", 3, "[build 2/3] RUN make"),
			1, proto(1, "c", 3, "[build 3/3] RUN --network=none --mount=type=secret,id=X "+failing))
	}
	lines, _, err := follow(named("make test") + `{"stream":"Successfully tagged web:1\n"}`)
	want := []string{"Step 1/3 : [build] COPY . .", "Step 2/3 : [build] RUN make",
		"Step 3/3 : [build] RUN --network=none --mount=type=secret,id=X make test", "Successfully tagged web:1"}
	if diff := cmp.Diff(want, lines); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for fault, failing := range map[string]string{
		"executor failed running [/bin/sh -c make test]: exit code: 2":                   "make test",
		`process "/bin/sh -c make test" did not complete successfully: exit code: 2`:     "make test",
		`process "/bin/sh -c sh -c \"exit 3\"" did not complete successfully: exit code`: `sh -c "exit 3"`,
		"executor failed running [/bin/sh -c cd a && make]: exit code: 2":                "cd a && make",
		"executor failed running [/server exit 3]: exit code: 3":                         `["/server", "exit", "3"]`,
		`process "/server exit 3" did not complete successfully: exit code: 3`:           `["/server", "exit", "3"]`,
		"failed to compute cache key: make test: not found":                              "",
		"executor failed running [/bin/sh -c make tests]: exit code: 2":                  "",
		`executor failed running [/server "exit" 3]: it did not complete successfully`:   "",
	} {
		command, step := "make test", ""
		if failing != "" {
			command, step = failing, "3/3 [build] RUN --network=none --mount=type=secret,id=X "+failing
		}
		lines, read, err := follow(named(command) + `{"errorDetail":{"message":` + strconv.Quote(fault) + `}}`)
		if err == nil || read.step != step || (len(lines) == 1) != (failing != "") {
			t.Errorf("%s: step %q, %v, %q", fault, read.step, err, lines)
		}
	}
}
