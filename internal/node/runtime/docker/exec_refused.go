package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// refusedPrefix begins the text that an engine writes into the output of a command that it could not start: no call of
// its API reports that.
const refusedPrefix = "OCI runtime exec failed:"

// refusedCodes are the exit codes that the engine then reports.
var refusedCodes = []int{126, 127, 128, 255}

// firstWords passes on a command's output, but holds back an engine's message that takes the output's place.
type firstWords struct {
	to     io.Writer
	passes bool // the output is the command's own
	said   bytes.Buffer
}

func (f *firstWords) Write(data []byte) (int, error) {
	switch {
	case f.passes:
		return f.to.Write(data)
	case f.said.Len() == 0 && !bytes.HasPrefix(data, []byte(refusedPrefix)):
		f.passes = true
		return f.to.Write(data)
	case f.said.Len()+len(data) > maxBuffered: // no engine's message is that long
		f.passes = true
		if _, err := f.to.Write(f.said.Bytes()); err != nil {
			return 0, err
		}
		return f.to.Write(data)
	}
	return f.said.Write(data)
}

// explain writes, at the end of the output, a sentence in place of the engine's message. If the exit code shows that
// the command wrote the text itself, explain passes it on unchanged.
func (e *execution) explain(first *firstWords, tty bool) error {
	if first.said.Len() == 0 || first.passes {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	inspected, err := e.runtime.client.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
	if err != nil || !slices.Contains(refusedCodes, inspected.ExitCode) {
		_, err := first.to.Write(first.said.Bytes())
		return err
	}
	to, between, end := io.Writer(e.stderr), "; ", "\n" // one line: of a probe's output only the last is kept
	if tty {
		to, between, end = first.to, "\r\n  ", "\r\n"
	}
	said, next := refusedText(e.pod, first.said.String())
	_, err = io.WriteString(to, "error: "+said+between+next+end)
	return err
}

// shells are programs that people often ask for, and that an image built FROM scratch lacks.
var shells = []string{"sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash"}

// refusedText returns a sentence that explains why a command could not be started in a pod, and the next step.
func refusedText(pod, engine string) (said, next string) {
	detail := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(engine), refusedPrefix))
	if containsAll(detail, []string{"setns"}) || containsAll(detail, []string{"stopped"}) {
		return pod + " ended just now", "its output: tend logs " + pod
	}
	refused := rejection("its node", "exec in "+pod, detail)
	if refused == nil {
		return "exec in " + pod + ": " + detail, "more: tend describe " + pod
	}
	program := programIn().FindStringSubmatch(detail)
	if refused.Reason != "CommandNotFound" || program == nil {
		return refused.Detail, "name a program of its image that can be run"
	}
	said = fmt.Sprintf("the image of %s has no program %s", pod, program[1])
	if slices.Contains(shells, program[1]) {
		said += " (built FROM scratch?)"
	}
	return said, "name a program that it has"
}
