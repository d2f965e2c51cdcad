package cli

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// address is what people name things by: KIND SCOPE/NAME, KIND/SCOPE/NAME, SCOPE/NAME, a bare NAME, or a pod's name.
type address struct {
	kind  api.Kind
	scope string
	name  string
	// pod is a container's name (it has a dot); the rest is empty then.
	pod string
}

// parseAddress reads an address off the front of args and returns the arguments after it.
func parseAddress(args []string) (address, []string, error) {
	if len(args) == 0 {
		return address{}, nil, fmt.Errorf("name an object: KIND SCOPE/NAME, SCOPE/NAME or a pod's name")
	}
	first, rest := args[0], args[1:]
	if kind, err := api.ParseKind(first); err == nil && len(rest) > 0 {
		a, err := parsePath(rest[0])
		if err != nil {
			return a, nil, err
		}
		if a.kind != "" && a.kind != kind {
			return a, nil, fmt.Errorf("%s %s names two kinds", first, rest[0])
		}
		a.kind = kind
		return a, rest[1:], nil
	}
	a, err := parsePath(first)
	return a, rest, err
}

func parsePath(path string) (address, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "" || len(parts) > 3:
		return address{}, fmt.Errorf("%q is not an address: want KIND/SCOPE/NAME, SCOPE/NAME or a pod's name", path)
	case len(parts) == 3:
		kind, err := api.ParseKind(parts[0])
		if err != nil {
			return address{}, fmt.Errorf("%s: %w", path, err)
		}
		return address{kind: kind, scope: parts[1], name: parts[2]}, nil
	case len(parts) == 2:
		return address{scope: parts[0], name: parts[1]}, nil
	case strings.Contains(path, "."):
		return address{pod: path}, nil
	}
	return address{name: path}, nil
}

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

// matches says whether an object is what the address names.
func (a address) matches(kind api.Kind, scope, name string) bool {
	return (a.kind == "" || a.kind == kind) && (a.scope == "" || a.scope == scope) && a.name == name
}

// owns says whether a pod is, or belongs to, what the address names.
func (a address) owns(pod api.Pod) bool {
	if a.pod != "" {
		return a.pod == pod.Name
	}
	return a.matches(pod.Kind, pod.Scope, pod.Resource)
}
