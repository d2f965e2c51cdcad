package plugin

import (
	"fmt"
	"strings"
)

// Reason is the kind of fault of a plugin or of its answer, in one word.
type Reason string

// The reasons. Each is an *Error's.
const (
	// NotFound: no plugin has the name or the alias.
	NotFound Reason = "PluginNotFound"
	// Ambiguous: several plugins have the alias.
	Ambiguous Reason = "PluginAmbiguous"
	// Broken: the plugin.yml or the files can't be used.
	Broken Reason = "PluginBroken"
	// NoCommand: the plugin has no such command.
	NoCommand Reason = "PluginNoCommand"
	// Timeout: it did not end in time and was killed.
	Timeout Reason = "PluginTimeout"
	// Flood: it wrote more than is read and was killed.
	Flood Reason = "PluginFlood"
	// Failed: it reported a failure, or crashed.
	Failed Reason = "PluginFailed"
	// Nonsense: the answer can't be used.
	Nonsense Reason = "PluginNonsense"
	// Source: it can't be fetched from the given source.
	Source Reason = "PluginSource"
	// Taken: another plugin has its name or one of its aliases.
	Taken Reason = "PluginNameTaken"
	// Refused: the call has arguments or variables that the plugin may not get.
	Refused Reason = "PluginRefused"
	// Busy: there was no turn for a call, or a plugin is being changed.
	Busy Reason = "PluginBusy"
	// Nested: calls within calls were nested too deeply, for example because a plugin calls itself.
	Nested Reason = "PluginNested"
	// Ended: a request or a call is part of a call that has ended.
	Ended Reason = "PluginCallEnded"
)

// Error is a fault of a plugin: its place, its cause and the next step.
type Error struct {
	Reason  Reason
	Plugin  string
	Command string
	Detail  string
	Next    string
	// Err is the cause if there is one.
	Err error
}

func (e *Error) Error() string {
	var text strings.Builder
	if e.Plugin != "" {
		fmt.Fprintf(&text, "plugin %s: ", e.Plugin)
	}
	if e.Command != "" {
		fmt.Fprintf(&text, "%s: ", e.Command)
	}
	text.WriteString(e.Detail)
	return text.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func broken(name string, err error) *Error {
	return &Error{Reason: Broken, Plugin: name, Detail: err.Error(), Err: err,
		Next: "correct the plugin, or install it again; other plugins are not affected"}
}

func badSource(source, next, format string, args ...any) *Error {
	return &Error{Reason: Source, Detail: fmt.Sprintf("install %s: ", Shown(source)) + fmt.Sprintf(format, args...),
		Next: next}
}

// clipped returns a text short enough for a message.
func clipped(text string) string {
	const most = 4096
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
