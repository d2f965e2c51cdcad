package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Envelope is a plugin's answer: {"status","data","error"}. One that isn't an envelope is a text.
type Envelope struct {
	Status string          `json:"status"`
	Data   json.RawMessage `json:"data,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Text is the whole output where it is no envelope.
	Text string `json:"-"`
}

// StatusOK is the status of an answer that is no failure.
const StatusOK = "ok"

// envelopeOf reads an envelope: output that begins with { and has a status.
func envelopeOf(out []byte) (Envelope, bool) {
	trimmed := bytes.TrimSpace(out)
	var e Envelope
	if !bytes.HasPrefix(trimmed, []byte("{")) || json.Unmarshal(trimmed, &e) != nil || e.Status == "" {
		return Envelope{}, false
	}
	return e, true
}

// begun is how an envelope begins.
var begun = regexp.MustCompile(`^\s*\{\s*"status"\s*:`)

// brokenOff says why output that begins like an envelope is none, where it isn't whole. Taken for a text its actions would
// be lost without a word. One with a text behind it is a text.
func brokenOff(out []byte) string {
	if !begun.Match(out) {
		return ""
	}
	var syntax *json.SyntaxError
	err := json.Unmarshal(out, new(json.RawMessage))
	if !errors.As(err, &syntax) || syntax.Offset < int64(len(bytes.TrimSpace(out))) && !strings.Contains(err.Error(), "depth") {
		return ""
	}
	return err.Error()
}

// answer is what a program that came to its end said. A failure is told by its exit code or by its envelope; the reason is
// the envelope's error, be it on stdout or on stderr, else what stands on stderr, else on stdout.
func (p *Plugin) answer(command string, out output) (Envelope, error) {
	envelope, found := envelopeOf(out.stdout)
	if out.code == 0 && (!found || envelope.Status == StatusOK) {
		if why := brokenOff(out.stdout); !found && why != "" {
			return envelope, p.nonsense(command, "stdout is no envelope, though it begins like one: %s", why)
		}
		if !found {
			envelope.Text = strings.ToValidUTF8(string(out.stdout), "?")
		}
		return envelope, nil
	}
	told, _ := envelopeOf(out.stderr)
	text := clipped(envelope.Error)
	for _, other := range []string{told.Error, string(out.stderr), string(out.stdout)} {
		if text == "" {
			text = clipped(other)
		}
	}
	if text == "" {
		text = fmt.Sprintf("it ended with %d and said nothing", out.code)
	}
	return envelope, &Error{Reason: Failed, Plugin: p.Folder(), Command: command, Detail: text,
		Next: "the plugin's documentation says more"}
}

// nonsense is the error of an answer that can't be used.
func (p *Plugin) nonsense(command, format string, args ...any) *Error {
	return &Error{Reason: Nonsense, Plugin: p.Folder(), Command: command,
		Detail: "its answer can't be used: " + fmt.Sprintf(format, args...), Next: "report it to the plugin's author; nothing was stored"}
}
