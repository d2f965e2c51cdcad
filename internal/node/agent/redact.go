package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/node/runtime"
)

// Values shorter than shortestSecret stay: replacing every "1" would leave no message readable.
const (
	shortestSecret = 4
	redacted       = "[redacted]"
)

// withoutEnv removes the values of the release's environment from an error: runtimes quote variables they can't set,
// and their errors are stored and logged.
func (a *Agent) withoutEnv(ctx context.Context, task api.Task, cause error) error {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return cause // without a release, this agent created no container from its environment
	}
	hide := hider(release)
	text := hide(cause.Error())
	if text == cause.Error() {
		return cause
	}
	if rejected, ok := errors.AsType[*runtime.RejectedError](cause); ok {
		return &runtime.RejectedError{Reason: rejected.Reason, Detail: hide(rejected.Detail), Next: hide(rejected.Next)}
	}
	if transient, ok := errors.AsType[*runtime.TransientError](cause); ok {
		return &runtime.TransientError{Reason: transient.Reason, Detail: hide(transient.Detail), Next: hide(transient.Next)}
	}
	return &redactedError{text, cause}
}

// hider returns a function that replaces the values of an environment and of secret files.
func hider(release node.Release) func(string) string {
	var values []string
	for name, text := range release.Spec.Env {
		values = append(values, configParts(text, release.Env[name])...)
	}
	values = slices.AppendSeq(values, maps.Values(release.SecretFiles))
	for _, env := range []map[string]string{release.Env, release.Spec.Env, optionsEnv(release)} {
		for name, value := range env {
			if !isPort(name, value, release.Spec) {
				values = append(values, value)
			}
		}
	}
	return Hide(values...)
}

// isPort reports whether a variable holds a port, which messages must show: its name says so, or the spec publishes
// this very port. Other numbers, such as a PIN, stay hidden, also within a range of ports.
func isPort(name, value string, spec api.DeploymentSpec) bool {
	port, err := strconv.ParseUint(value, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != value {
		return false
	}
	return name == "PORT" || strings.HasSuffix(name, "_PORT") || slices.ContainsFunc(spec.Ports, func(entry string) bool {
		published, err := api.NormalizePort(entry)
		return err == nil && published.Container.First == int(port) && published.Container.Last == int(port)
	})
}

// Hide returns a function that replaces values, plain or as Go and JSON quote them, and their single lines, since a
// text may hold only the last ones. The longest are replaced first, since one may be part of another. Hide before a
// text is cut: the rest of a cut value isn't recognised.
func Hide(values ...string) func(string) string {
	var secrets []string
	for _, value := range values {
		if len(value) < shortestSecret {
			continue
		}
		inGo, inJSON := strconv.Quote(value), strconv.Quote(value)
		if raw, err := json.Marshal(value); err == nil {
			inJSON = string(raw)
		}
		secrets = append(secrets, value, inGo[1:len(inGo)-1], inJSON[1:len(inJSON)-1])
		secrets = append(secrets, linesOf(value)...)
	}
	slices.SortFunc(secrets, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	return func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, redacted)
		}
		return text
	}
}

// configParts returns the config values within a variable that are long enough to be hidden: the parts of value in
// place of each ${config.…} of text.
func configParts(text, value string) []string {
	var pattern strings.Builder
	var encoded []bool // whether each part is percent-encoded
	at := 0
	for _, r := range api.References(text) {
		if r.Space != api.SpaceConfig {
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(text[at:r.Start]))
		if at = r.End; r.Escaped {
			pattern.WriteString(regexp.QuoteMeta(r.Text))
		} else {
			pattern.WriteString("(.*)")
			encoded = append(encoded, r.Filter == api.FilterURL)
		}
	}
	if at == 0 {
		return nil
	}
	form, err := regexp.Compile("(?s)^" + pattern.String() + regexp.QuoteMeta(text[at:]) + "$")
	if err != nil {
		return nil
	}
	found := form.FindStringSubmatch(value)
	if len(found) == 0 {
		return nil
	}
	var parts []string
	for i, part := range found[1:] {
		parts = append(parts, part)
		if encoded[i] {
			if plain, err := url.PathUnescape(part); err == nil && plain != part {
				parts = append(parts, plain) // a program that decodes it may print it
			}
		}
	}
	return slices.DeleteFunc(parts, func(part string) bool { return len(part) < shortestSecret })
}

// linesOf returns the lines of a value with several lines, if they are long enough to be hidden.
func linesOf(value string) []string {
	if !strings.Contains(value, "\n") {
		return nil
	}
	var out []string
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= shortestSecret {
			out = append(out, line)
		}
	}
	return out
}

// optionsEnv returns the variables that docker_options set.
func optionsEnv(release node.Release) map[string]string {
	options, err := dockerflags.Parse(release.Spec.DockerOptions)
	if err != nil {
		return nil
	}
	return options.Env
}

// hidden returns lines of a container's output as they may be stored: without the values of its environment and secret
// files.
func (a *Agent) hidden(ctx context.Context, task api.Task, lines []string) []string {
	release, err := a.releases.of(ctx, task)
	if err != nil || len(lines) == 0 {
		return lines
	}
	return strings.Split(hider(release)(strings.Join(lines, "\n")), "\n")
}

// redactedError matches its cause in errors.Is, but can't be unwrapped: the original text is not accessible.
type redactedError struct {
	text  string
	cause error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Is(target error) bool { return errors.Is(e.cause, target) }
