package docker

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// follow reads an engine's answer to a build.
func follow(answer string) (lines []string, step string, err error) {
	o := &buildOutput{line: func(line string) { lines = append(lines, line) }}
	err = o.read(json.NewDecoder(strings.NewReader(answer)))
	return lines, o.step, err
}

func TestBuildOutputIsRead(t *testing.T) {
	lines, step, err := follow(`{"stream":"Step 1/2 : FROM scratch"}{"stream":"\n"}
{"status":"Pulling fs layer","id":"a","progressDetail":{}}{"status":"Downloading","id":"a","progressDetail":{"current":1,"total":9}}
{"stream":"half a "}{"stream":"line\r\nand another\n"}{"stream":"Step 2/2 : RUN [\"make\"]\n"}{"stream":"no end"}{"aux":{"ID":"sha256:1"}}`)
	want := []string{"Step 1/2 : FROM scratch", "a: Pulling fs layer", "half a line", "and another", `Step 2/2 : RUN ["make"]`, "no end"}
	if err != nil || !slices.Equal(lines, want) || step != `2/2 RUN ["make"]` {
		t.Errorf("%q, %q, %v", lines, step, err)
	}
	long, _, err := follow(`{"stream":"` + strings.Repeat("x", 3*maxBuildLine) + `"}`)
	if err != nil || len(long) != 3 || len(long[0]) != maxBuildLine {
		t.Errorf("%d lines of a long one, %v", len(long), err)
	}
}

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
			"ImageNotFound", "ghcr.io/o/base:1", false,
		},
		"a registry that is down": {
			`{"stream":"Step 1/4 : FROM reg.local:5000/base\n"}{"errorDetail":{"message":"Get http://reg.local:5000/v2/: dial tcp: connection refused"}}`,
			"RegistryUnreachable", "reg.local:5000", true,
		},
		"a full disk": {
			`{"stream":"Step 2/4 : COPY . .\n"}{"errorDetail":{"message":"write /x: no space left on device"}}`, "DiskFull", "free space", true,
		},
		"BuildKit": {
			`{"stream":"Step 2/4 : RUN x\n"}{"errorDetail":{"message":"the --mount option requires BuildKit. Refer to the docs"}}`,
			api.ReasonBuildFailed, "classic builder", false,
		},
	} {
		_, step, err := follow(test.answer)
		if err == nil {
			t.Errorf("%s: it went well", name)
			continue
		}
		fault := buildFault(step, err)
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
	_, step, err := follow(`{"stream":"Step 2/4 : RUN x\n"}{"stream`)
	if fault := buildFault(step, err); !errors.Is(fault, runtime.ErrUnavailable) {
		t.Errorf("an answer that was cut: %v", fault)
	}
	if errors.Is(err, io.EOF) {
		t.Error("an answer that was cut is taken for its end")
	}
}
