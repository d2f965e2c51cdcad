package docker

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"tend.dev/tend/api/pattern"
)

// trace turns BuildKit's progress into lines. BuildKit runs steps in parallel: a line "Step 2/5 : …" names the step
// whose output follows.
//
// The messages are decoded field by field. The types that BuildKit generates for them would add 1.5 MB to the binary.
type trace struct {
	line     func(string)
	vertices map[string]*vertex // by digest
	order    []*vertex          // as they were first named
	current  *vertex
	// confined means that only the logs of RUN are shown. BuildKit logs what a registry answered when it tries again, and
	// what git says of a URL in ADD, which a base image's ONBUILD may have.
	confined bool
}

// vertex is a node of BuildKit's graph: a step of the Dockerfile, or something done around them.
type vertex struct {
	name                                  string
	cached, started, completed, announced bool
	fault                                 string
	output                                lines
}

// The numbers of the fields that are read, of StatusResponse, Vertex and VertexLog.
const (
	statusVertexes, statusLogs                                                          = 1, 3
	vertexDigest, vertexName, vertexCached, vertexStarted, vertexCompleted, vertexError = 1, 3, 4, 5, 6, 7
	logVertex, logText                                                                  = 1, 4
)

// add reads a StatusResponse, in base64.
func (t *trace) add(aux json.RawMessage) error {
	var status []byte
	if err := json.Unmarshal(aux, &status); err != nil {
		return fmt.Errorf("the engine's progress: %w", err)
	}
	var vertices, logs [][]byte
	eachField(status, func(field protowire.Number, value []byte) {
		switch field {
		case statusVertexes:
			vertices = append(vertices, value)
		case statusLogs:
			logs = append(logs, value)
		}
	})
	for _, message := range vertices {
		t.vertex(message)
	}
	for _, message := range logs {
		t.log(message)
	}
	return nil
}

// eachField visits the fields of a message. A number that isn't zero is passed as one byte.
func eachField(message []byte, visit func(field protowire.Number, value []byte)) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		var value []byte
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			var number uint64
			if number, n = protowire.ConsumeVarint(message); number != 0 {
				value = []byte{1}
			}
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return
		}
		message = message[n:]
		visit(field, value)
	}
}

func (t *trace) vertex(message []byte) {
	var digest string
	var now vertex
	eachField(message, func(field protowire.Number, value []byte) {
		switch field {
		case vertexDigest:
			digest = string(value)
		case vertexName:
			now.name = string(value)
		case vertexCached:
			now.cached = len(value) > 0
		case vertexStarted:
			now.started = true
		case vertexCompleted:
			now.completed = true
		case vertexError:
			now.fault = string(value)
		}
	})
	known := t.vertices[digest]
	if known == nil {
		known = &vertex{name: now.name}
		known.output.emit = func(line string) {
			t.announce(known)
			t.line(line)
		}
		t.vertices[digest], t.order = known, append(t.order, known)
	}
	if now.started && !known.started {
		t.announce(known)
	}
	if now.completed && !known.completed {
		known.output.flush()
		if now.cached && known.step() != "" {
			known.output.emit(" ---> Using cache")
		}
	}
	known.started, known.completed, known.fault = known.started || now.started, known.completed || now.completed, now.fault
}

func (t *trace) log(message []byte) {
	var of *vertex
	var text string
	eachField(message, func(field protowire.Number, value []byte) {
		switch field {
		case logVertex:
			of = t.vertices[string(value)]
		case logText:
			text = string(value)
		}
	})
	if of != nil && (!t.confined || of.command() != "") {
		of.output.write(text)
	}
}

// announce writes the line that names a vertex, unless the last line was of the same vertex.
func (t *trace) announce(v *vertex) {
	if t.current == v {
		return
	}
	if step, base := v.step(), v.base(); step != "" {
		count, text, _ := strings.Cut(step, " ")
		t.line("Step " + count + " : " + text)
	} else if base != "" {
		t.line("Looking up " + base)
	}
	t.current, v.announced = v, true
}

// rest announces the steps of a build that succeeded whose start was not reported: on a loaded machine BuildKit drops
// progress.
func (t *trace) rest() {
	for _, v := range t.order {
		if !v.announced && v.step() != "" {
			t.announce(v)
		}
	}
}

// failed returns the step that failed, and the base image if it could not be had. If the failure of the step was not
// reported, the text of the build's error names the command.
func (t *trace) failed(text string) (step, base string) {
	of := t.running(text)
	for _, v := range t.order {
		if v.fault != "" && !strings.Contains(v.fault, "context canceled") { // other steps are canceled when one fails
			of = v
			break
		}
	}
	if of == nil {
		return "", ""
	}
	of.output.flush()
	t.announce(of)
	return of.step(), of.base()
}

var (
	unnamedStage = pattern.Lazy(`^stage-\d+$`)

	stepName = pattern.Lazy(`^\[(?:(.+) )?(\d+/\d+)\] (.*)$`)
	runStep  = pattern.Lazy(`^\d+/\d+ (?:\[[^\]]+\] )?RUN (?:--\S+ )*(.+)$`)
	runFault = pattern.Lazy(`executor failed running \[(.+)\]: |process (".+") did not complete`)
	baseName = pattern.Lazy(`^(?:\[internal\] load metadata for |\[(?:.+ )?\d+/\d+\] FROM |resolve image config for )(\S+)`)
)

// step returns "2/5 RUN make", or "2/5 [build] RUN make" for a stage with a name; empty if it isn't a step.
func (v *vertex) step() string {
	match := stepName().FindStringSubmatch(v.name)
	switch {
	case match == nil:
		return ""
	case match[1] == "" || unnamedStage().MatchString(match[1]):
		return match[2] + " " + match[3]
	}
	return match[2] + " [" + match[1] + "] " + match[3]
}

// running returns the step whose command the text of a build's error names, in either form of RUN; nil if none is, or
// if several could be meant.
func (t *trace) running(text string) (of *vertex) {
	match := runFault().FindStringSubmatch(text)
	if match == nil {
		return nil
	}
	failed := match[1]
	if quoted, err := strconv.Unquote(match[2]); err == nil {
		failed = quoted
	}
	longest := 0
	for _, v := range t.order {
		command := v.command()
		var words []string
		if json.Unmarshal([]byte(command), &words) == nil {
			command = strings.Join(words, " ")
		}
		switch {
		case command == "" || failed != command && !strings.HasSuffix(failed, " "+command):
		case len(command) > longest:
			of, longest = v, len(command)
		case len(command) == longest:
			of = nil
		}
	}
	return of
}

// command returns what a step runs; empty if it isn't a RUN.
func (v *vertex) command() string {
	if match := runStep().FindStringSubmatch(v.step()); match != nil {
		return match[1]
	}
	return ""
}

// base returns the image that the vertex pulls, or "".
func (v *vertex) base() string {
	if match := baseName().FindStringSubmatch(v.name); match != nil {
		return match[1]
	}
	return ""
}
