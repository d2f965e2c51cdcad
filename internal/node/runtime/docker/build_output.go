package docker

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/moby/moby/api/types/jsonstream"
)

// buildOutput turns the messages of either builder into lines.
type buildOutput struct {
	line func(string)
	// step is the current step, as its line names it; base is the base image that a step could not get.
	step, base string
	stream     lines
	trace      *trace
}

func newBuildOutput(line func(string)) *buildOutput {
	o := &buildOutput{line: line}
	o.stream.emit = o.classic
	o.trace = &trace{line: line, vertices: map[string]*vertex{}}
	return o
}

// traceID marks the messages that hold BuildKit's progress.
const traceID = "moby.buildkit.trace"

func (o *buildOutput) read(messages *json.Decoder) error {
	defer o.stream.flush()
	for messages.More() {
		var message jsonstream.Message
		if err := messages.Decode(&message); err != nil {
			return err
		}
		switch {
		case message.Error != nil:
			if at, base := o.trace.failed(message.Error.Message); at != "" || base != "" {
				o.step, o.base = at, base
			}
			return message.Error
		case message.ID == traceID && message.Aux != nil:
			if err := o.trace.add(*message.Aux); err != nil {
				return err
			}
		case message.Stream != "":
			o.trace.rest() // BuildKit's only such message is the last one
			o.stream.write(message.Stream)
		case message.Status != "" && (message.Progress == nil ||
			message.Progress.Total == 0 && message.Progress.Current == 0):
			o.stream.write(strings.TrimPrefix(message.ID+": ", ": ") + message.Status + "\n")
		}
	}
	_, err := messages.Token() // a cut answer has no end
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// classic handles a line of the classic builder.
func (o *buildOutput) classic(line string) {
	if step, found := strings.CutPrefix(line, "Step "); found && strings.Contains(step, " : ") {
		o.step, o.base = strings.Replace(step, " : ", " ", 1), ""
		_, instruction, _ := strings.Cut(step, " : ")
		if base, found := strings.CutPrefix(instruction, "FROM "); found {
			o.base, _, _ = strings.Cut(strings.TrimSpace(base), " ")
		}
	} else if strings.HasPrefix(line, "# Executing ") { // the base image is there: what fails now is its ONBUILD
		o.base = ""
	}
	o.line(line)
}

// maxBuildLine bounds one line; a longer one is split into several.
const maxBuildLine = 8 << 10

// lines splits text that comes in parts into lines. It drops empty ones.
type lines struct {
	emit    func(string)
	partial strings.Builder
}

func (l *lines) write(text string) {
	for text != "" {
		head, rest, ended := strings.Cut(text, "\n")
		if room := maxBuildLine - l.partial.Len(); len(head) > room {
			head, rest, ended = head[:room], text[room:], true
		}
		l.partial.WriteString(head)
		if ended {
			l.flush()
		}
		text = rest
	}
}

func (l *lines) flush() {
	line := strings.TrimRight(l.partial.String(), "\r")
	l.partial.Reset()
	if line != "" {
		l.emit(line)
	}
}
