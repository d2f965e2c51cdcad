package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/manifest"
)

// failure is an error as -o json and yaml print it, on one line: JSON is YAML too. The fields are those of the API's
// problems, with the exit code.
type failure struct {
	Title     string           `json:"title"`
	Status    int              `json:"status,omitempty"`
	Detail    string           `json:"detail"`
	Next      string           `json:"next,omitempty"`
	Errors    []api.FieldError `json:"errors,omitempty"`
	RequestID string           `json:"requestID,omitempty"`
	ExitCode  int              `json:"exitCode"`
}

// The titles of errors that don't come from a server. Any other is an Error.
const (
	titleNotConverged = "NotConverged"
	titleTimeout      = "Timeout"
	titleReplaced     = "Replaced"
	titleRunFailed    = "RunFailed"
)

// reportJSON prints an error for a program and returns the process's exit code.
func reportJSON(err error, stderr io.Writer) int {
	code, text := exitOf(err)
	if text != "" {
		var line bytes.Buffer
		_ = compactJSON(&line, failureOf(err, code, text))
		_, _ = stderr.Write(escapedJSON(line.Bytes()))
	}
	return code
}

// failureOf returns an error for a program. text is the text for people.
func failureOf(err error, code int, text string) failure {
	f := failure{Title: "Error", Detail: text, ExitCode: code}
	status, ended := errors.AsType[*exitStatus](err)
	if ended {
		f.Title = cmp.Or(status.title, f.Title)
	}
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		f.Title, f.Status, f.Next, f.Errors, f.RequestID = problem.Title, problem.Status, problem.Next, problem.Errors,
			problem.RequestID
		f.Detail = strings.Replace(text, problem.Error(), cmp.Or(problem.Detail, problem.Title), 1)
		if ended { // its text lists the faults
			f.Detail = cmp.Or(problem.Detail, problem.Title)
		}
		return f
	}
	if faults, ok := errors.AsType[*manifest.Error](err); ok {
		f.Title, f.Errors = "Invalid", fieldErrors(faults)
		return f
	}
	if _, ok := errors.AsType[*missingError](err); ok {
		f.Title = "NotFound"
	}
	if _, ok := errors.AsType[*client.UnreachableError](err); ok {
		f.Title = "Unreachable"
	}
	if !ended {
		if what, next, two := strings.Cut(text, "\n  "); two && !strings.Contains(next, "\n") {
			f.Detail, f.Next = what, strings.TrimPrefix(next, nextLabel)
		}
	}
	return f
}

// fieldErrors returns the faults of a manifest, each with its place.
func fieldErrors(faults *manifest.Error) (out []api.FieldError) {
	for _, d := range faults.List {
		parts := slices.DeleteFunc([]string{d.Position.String(), d.Summary, d.Next}, func(s string) bool { return s == "" })
		out = append(out, api.FieldError{Object: d.Object, Field: d.Field, Detail: strings.Join(parts, ": ")})
	}
	return out
}

// flagsError is the error of a command line whose flags can't be read.
type flagsError struct{ error }

func (u *flagsError) Unwrap() error { return u.error }

// forPrograms reports whether the errors of a command line are read by a program. Where flags could not be read, -o
// may stand behind the one that is wrong; and those of an unknown command would be its own.
func forPrograms(root *cobra.Command, args []string, err error) bool {
	format := root.PersistentFlags().Lookup("output").Value.String()
	_, unread := errors.AsType[*flagsError](err)
	if _, unknown := errors.AsType[*unknownCommandError](err); unread || unknown {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.ParseErrorsAllowlist.UnknownFlags = true
		flags.StringVarP(&format, "output", "o", format, "")
		_ = flags.Parse(args)
	}
	return format == "json" || format == "yaml" || format == "yml"
}
