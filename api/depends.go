package api

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ParseDependency reads an entry of depends_on.workloads: kind/name of the given scope, or kind/scope/name. It may name
// a deployment, a statefulset, or a job, whose last run counts.
func ParseDependency(entry, scope string) (Ref, error) {
	parts := strings.Split(entry, "/")
	if len(parts) == 2 {
		parts = []string{parts[0], scope, parts[1]}
	}
	if len(parts) != 3 || !dnsLabel().MatchString(parts[1]) || !dnsLabel().MatchString(parts[2]) {
		return Ref{}, fmt.Errorf("%q is not kind/name or kind/scope/name", entry)
	}
	ref := Ref{Kind: Kind(parts[0]), Scope: parts[1], Name: parts[2]}
	switch ref.Kind {
	case KindDeployment, KindStatefulSet, KindJob:
		return ref, nil
	}
	return Ref{}, fmt.Errorf("%q names no deployment, statefulset or job", entry)
}

// Dependencies are the workloads an object's spec says it depends on. What can't be read depends on nothing: validation
// has refused it, or another kind stands there.
func Dependencies(o Object) []Ref {
	var spec struct {
		DependsOn *DependsOn `json:"depends_on"`
	}
	if json.Unmarshal(o.Spec, &spec) != nil || spec.DependsOn == nil {
		return nil
	}
	var out []Ref
	for _, entry := range spec.DependsOn.Workloads {
		if ref, err := ParseDependency(entry, o.Scope); err == nil {
			out = append(out, ref)
		}
	}
	return out
}
