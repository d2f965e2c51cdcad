package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// Values shorter than shortestSecret are left: replacing every "1" would leave no message readable.
const (
	shortestSecret = 4
	redacted       = "[redacted]"
)

// withoutEnv is an error without the values of the release's environment: runtimes quote variables they can't set, and
// what they say is stored and logged.
func (a *Agent) withoutEnv(ctx context.Context, task api.Task, cause error) error {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return cause // without a release no container was made from its environment by this agent
	}
	hide := hider(release)
	text := hide(cause.Error())
	if text == cause.Error() {
		return cause
	}
	var rejected *runtime.RejectedError
	if errors.As(cause, &rejected) {
		return &runtime.RejectedError{Reason: rejected.Reason, Detail: hide(rejected.Detail), Next: hide(rejected.Next)}
	}
	var transient *runtime.TransientError
	if errors.As(cause, &transient) {
		return &runtime.TransientError{Reason: transient.Reason, Detail: hide(transient.Detail), Next: hide(transient.Next)}
	}
	return &redactedError{text, cause}
}

// hider replaces the values of an environment, plain or as Go and JSON quote them; the longest first, since one may
// be part of another.
func hider(release Release) func(string) string {
	var secrets []string
	for _, env := range []map[string]string{release.Env, release.Spec.Env} {
		for _, value := range env {
			if len(value) < shortestSecret {
				continue
			}
			inGo, inJSON := strconv.Quote(value), strconv.Quote(value)
			if raw, err := json.Marshal(value); err == nil {
				inJSON = string(raw)
			}
			secrets = append(secrets, value, inGo[1:len(inGo)-1], inJSON[1:len(inJSON)-1])
		}
	}
	slices.SortFunc(secrets, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	return func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, redacted)
		}
		return text
	}
}

// redactedError is its cause to errors.Is, but can't be unwrapped: nobody gets at the words.
type redactedError struct {
	text  string
	cause error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Is(target error) bool { return errors.Is(e.cause, target) }
