package docker

import (
	"errors"
	"fmt"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/jsonstream"

	"tend.dev/tend/api/pattern"
)

// knownWords returns the words of an engine's error by which Tend knows a fault of a registry, or of the engine, and
// nothing else of it.
func knownWords(text string) string {
	for _, words := range []string{noSpace, needsBuildKit} {
		if containsAll(text, []string{words}) {
			return words
		}
	}
	for _, row := range pullFaults {
		if containsAll(text, row.words) {
			return strings.Join(row.words, " ")
		}
	}
	return ""
}

// through are the parts of BuildKit that an error of the source went through.
const through = `^(failed to solve( with frontend [\w.]+)?: |rpc error: code = Unknown desc = |` +
	`failed to (read dockerfile|create LLB definition|build LLB): )*`

// An engine's errors about the source. ownCommand is that of a command that failed, whose words are the user's.
// ownSource is that of a file that isn't there, or a line that can't be parsed.
var (
	ownCommand = pattern.Lazy(`(?is)` + through + `(process "|executor failed running \[|The command ').*` +
		`(exit code|returned a non-zero code): \d+\s*$`)
	ownSource = pattern.Lazy(`(?i)^(COPY|ADD) failed: |` +
		`(compute cache key|calculate checksum)[^"]*"[^"]*"(: not found|: no such file or directory| not found)+\s*$|` +
		through + `dockerfile parse error`)
)

// ownFault reports whether an engine's error is about the source, and quotes no registry. A registry chooses the
// addresses that it redirects to, and so words of an error that has one.
func ownFault(text string) bool {
	return ownCommand().MatchString(text) || ownSource().MatchString(text) && !strings.Contains(text, "://")
}

// hidden is the error of a confined build that may quote a registry.
const hidden = "the engine's words are not shown: no admin declared this build"

// confinedBuildFault returns the error of a build that no admin declared, as confinedFault does: an engine's error may
// quote what answered a request that a registry redirected. That holds wherever the base images come from: one of them
// may have the engine fetch a URL, or another image, by ONBUILD.
func confinedBuildFault(err error) error {
	text, answer := engineText(err), strings.HasPrefix(err.Error(), prefaces[0]) // it failed before it showed a step
	switch known := knownWords(text); {
	case !answer && !errors.As(err, new(*jsonstream.Error)) || ownFault(text):
		return err
	case answer && unavailable(err):
		return fmt.Errorf("%w: %s", cerrdefs.ErrUnavailable, hidden)
	case known != "":
		return &jsonstream.Error{Message: known}
	}
	return &jsonstream.Error{Message: hidden}
}
