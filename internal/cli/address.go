package cli

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// address is a name as users write it: KIND SCOPE/NAME, KIND/SCOPE/NAME, SCOPE/NAME, a bare NAME, or a pod's name. In
// KIND/NAME the kind is in scope, until candidates looks for what there is.
type address struct {
	kind  api.Kind
	scope string
	name  string
	// pod is a pod's name (it has a dot, which no scope or name has); the other fields are empty then.
	pod string
}

// podWords may stand in front of a pod's name in place of a kind.
var podWords = []string{"pod", "pods", "po"}

// parseKind parses a kind as users type it, also by the short names that other tools have for it.
func parseKind(text string) (api.Kind, error) {
	for _, kind := range api.Kinds {
		if slices.Contains(kind.Info().Short, strings.ToLower(text)) {
			return kind, nil
		}
	}
	return api.ParseKind(text)
}

func isPodWord(text string) bool { return slices.Contains(podWords, strings.ToLower(text)) }

// parseAddress reads an address off the front of args and returns the arguments after it.
func parseAddress(args []string) (address, []string, error) {
	if len(args) == 0 {
		return address{}, nil, fmt.Errorf("name an object as KIND SCOPE/NAME or SCOPE/NAME, or a pod by its name")
	}
	first, rest := args[0], args[1:]
	if isPodWord(first) && len(rest) > 0 {
		a, err := parsePath(rest[0])
		return a, rest[1:], err
	}
	kind, err := parseKind(first)
	if err != nil || len(rest) == 0 {
		a, err := parsePath(first)
		return a, rest, err
	}
	a, err := parsePath(rest[0])
	switch {
	case err != nil:
		return a, nil, err
	case a.pod != "":
		return a, nil, fmt.Errorf("%s is a pod, not a %s: leave the kind out", a.pod, kind)
	case a.kind != "" && a.kind != kind:
		return a, nil, fmt.Errorf("%s %s names two kinds", first, rest[0])
	}
	a.kind = kind
	return a, rest[1:], nil
}

func parsePath(path string) (address, error) {
	parts := strings.Split(path, "/")
	switch {
	case strings.Contains(path, "="):
		return address{},
			fmt.Errorf("%q is not an address: want SCOPE/NAME first, and what belongs to it after a space", path)
	case len(parts) > 3 || slices.Contains(parts, ""):
		return address{}, fmt.Errorf("%q is not an address: want KIND/SCOPE/NAME, SCOPE/NAME or a pod's name", path)
	case len(parts) == 3:
		kind, err := parseKind(parts[0])
		if err != nil {
			return address{}, fmt.Errorf("%s: %w", path, err)
		}
		return address{kind: kind, scope: parts[1], name: parts[2]}, nil
	case len(parts) == 2 && isPodWord(parts[0]):
		return address{pod: parts[1]}, nil
	case len(parts) == 2:
		return address{scope: parts[0], name: parts[1]}, nil
	case strings.Contains(path, "."):
		return address{pod: path}, nil
	}
	return address{name: path}, nil
}

// String returns the form people type.
func (a address) String() string {
	if a.pod != "" {
		return a.pod
	}
	out := a.name
	if a.scope != "" {
		out = a.scope + "/" + out
	}
	if a.kind != "" {
		out = string(a.kind) + " " + out
	}
	return out
}

// matches reports whether the address names an object.
func (a address) matches(kind api.Kind, scope, name string) bool {
	return (a.kind == "" || a.kind == kind) && (a.scope == "" || a.scope == scope) && a.name == name
}
