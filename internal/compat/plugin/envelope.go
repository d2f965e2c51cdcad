package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/platform/subprocess"
)

// Envelope is a plugin's answer: {"status","data","error"}. Any other output is text.
type Envelope struct {
	Status string          `json:"status"`
	Data   json.RawMessage `json:"data,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Text is the whole output if it is not an envelope.
	Text string `json:"-"`
}

// StatusOK is the status of a successful answer.
const StatusOK = "ok"

// envelopeOf decodes an envelope: output that begins with { and has a status.
func envelopeOf(out []byte) (Envelope, bool) {
	trimmed := bytes.TrimSpace(out)
	var e Envelope
	if !bytes.HasPrefix(trimmed, []byte("{")) || json.Unmarshal(trimmed, &e) != nil || e.Status == "" {
		return Envelope{}, false
	}
	return e, true
}

// begun matches the beginning of an envelope.
var begun = pattern.Lazy(`^\s*\{\s*"status"\s*:`)

// brokenOff returns an error for output that begins like an envelope but is cut off. Read as plain text, its actions
// would be lost silently. An envelope with text after it counts as text.
func brokenOff(out []byte) string {
	if !begun().Match(out) {
		return ""
	}
	var syntax *json.SyntaxError
	err := json.Unmarshal(out, new(json.RawMessage))
	if !errors.As(err, &syntax) ||
		syntax.Offset < int64(len(bytes.TrimSpace(out))) && !strings.Contains(err.Error(), "depth") {
		return ""
	}
	return err.Error()
}

// answer returns the answer of a program that has ended. A failure is an exit code other than 0, or an envelope with an
// error. The message is the envelope's error, on stdout or on stderr, else the text on stderr, else the text on stdout.
func (p *Plugin) answer(command string, out subprocess.Output) (Envelope, error) {
	envelope, found := envelopeOf(out.Stdout)
	if out.Code == 0 && (!found || envelope.Status == StatusOK) {
		if why := brokenOff(out.Stdout); !found && why != "" {
			return envelope, p.nonsense(command, "stdout is not an envelope, though it begins like one: %s", why)
		}
		if !found {
			envelope.Text = strings.ToValidUTF8(string(out.Stdout), "?")
		}
		return envelope, nil
	}
	reported, _ := envelopeOf(out.Stderr)
	text := clipped(envelope.Error)
	for _, other := range []string{reported.Error, string(out.Stderr), string(out.Stdout)} {
		if text == "" {
			text = clipped(other)
		}
	}
	if text == "" {
		text = fmt.Sprintf("it ended with %d and printed nothing", out.Code)
	}
	return envelope, &Error{Reason: Failed, Plugin: p.Folder(), Command: command, Detail: text,
		Next: "the plugin's documentation says more"}
}

// nonsense returns the error of an answer that can't be used.
func (p *Plugin) nonsense(command, format string, args ...any) *Error {
	return &Error{Reason: Nonsense, Plugin: p.Folder(), Command: command,
		Detail: "its answer can't be used: " + fmt.Sprintf(format, args...),
		Next:   "report it to the plugin's author; nothing was stored"}
}
