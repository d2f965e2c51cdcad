package environment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
)

// Error is the reason why an object has no environment. Running pods are not affected; the next change of what is
// missing causes the next attempt.
type Error struct {
	Reason string
	Cause  error
	// Next says what to do about it.
	Next string
	// Passing is set if what is missing is on its way and no action is needed.
	Passing bool
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %s", e.Cause, e.Next) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// errNoRelease means that the target of a reference has no release yet.
var errNoRelease = errors.New("has no release yet")

// passing reports whether every one of the joined errors will pass by itself.
func passing(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !passing(err) })
	}
	return errors.Is(err, errNoRelease)
}

func unresolved(cause error) error {
	if passing(cause) {
		return &Error{Reason: api.ReasonUnresolvedReference, Cause: flat(cause),
			Next: "nothing to do: Tend continues by itself", Passing: true}
	}
	return &Error{
		Reason: api.ReasonUnresolvedReference, Cause: flat(cause),
		Next: nextOfReference(cause),
	}
}

// fieldError is the error of the references in one field.
type fieldError struct {
	field string
	cause error
}

func (e *fieldError) Error() string { return e.field + ": " + e.cause.Error() }

// Unwrap returns a list, so that passing sees each of the causes.
func (e *fieldError) Unwrap() []error { return []error{e.cause} }

// absentError means that the target of a reference does not exist.
type absentError struct {
	text   string
	target api.Ref
}

func (e *absentError) Error() string { return fmt.Sprintf("%s: there is no %s", e.text, e.target) }

// nextOfReference returns the next step for the first reference that stands for nothing.
func nextOfReference(cause error) string {
	var at *fieldError
	var absent *absentError
	next := "correct the reference; Tend retries"
	if errors.As(cause, &at) {
		next = "correct `" + at.field + "`; Tend retries"
	}
	if errors.As(cause, &absent) {
		next = fmt.Sprintf("apply %s, or %s", absent.target, next)
	}
	return next
}

// missingValuesError reports that ${config.…} in env names values that no bucket has. It maps each fault to the command
// that fixes it.
type missingValuesError struct{ faults map[string]string }

func (e *missingValuesError) Error() string {
	return strings.Join(slices.Sorted(maps.Keys(e.faults)), "; ")
}

// next returns what to do: each command once.
func (e *missingValuesError) next() string {
	return strings.Join(slices.Compact(slices.Sorted(maps.Values(e.faults))), "; ")
}

// flat returns a joined error on one line.
func flat(err error) error { return errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// setSecret returns the command that sets a missing key.
func setSecret(bucket env.Bucket, key string) string {
	return fmt.Sprintf("tend config set %s/%s %s=- (it asks for the value)", bucket.Scope, bucket.Name, key)
}

func unmerged(ref api.Ref, cause error) error {
	var empty *env.EmptyError
	var missing *env.MissingKeysError
	var values *missingValuesError
	switch {
	case errors.As(cause, &values):
		return &Error{Reason: api.ReasonSecretKeyMissing, Cause: cause, Next: values.next()}
	case errors.As(cause, &empty):
		return &Error{Reason: api.ReasonEnvFromEmpty, Cause: cause,
			Next: fmt.Sprintf("tend config set %s KEY=VALUE, or take it out of `env_from`", empty.Entries[0])}
	case errors.As(cause, &missing):
		return &Error{Reason: api.ReasonSecretKeyMissing, Cause: cause,
			Next: setSecret(env.Bucket{Scope: ref.Scope, Name: ref.Name}, missing.Keys[0])}
	}
	return &Error{
		Reason: api.ReasonEnvironmentUnreadable, Cause: fmt.Errorf("read its environment: %w", cause),
		Next: "start the server with the key the value was set under, or set the value again",
	}
}
