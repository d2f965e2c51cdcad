package environment

import (
	"fmt"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/store/records"
)

func facts(s records.Snapshot, consumer api.Ref) reference.Lookup {
	return func(r api.Reference) (string, error) { return fact(s, consumer, r) }
}

// fact returns the value of ${ref.kind.name.field}, as seen by its consumer.
func fact(s records.Snapshot, consumer api.Ref, r api.Reference) (string, error) {
	if err := r.CheckFact(consumer); err != nil {
		return "", err
	}
	target, field := r.Target(consumer.Scope)
	object := s.Object(target)
	if !object.Exists() || object.Value.Metadata.Deleting() {
		return "", &absentError{r.Text, target}
	}
	spec, err := api.DecodeWorkload(target.Kind, object.Value.Spec)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", r.Text, target, err)
	}
	value, err := workloadFact(target, field, spec, s.WorkloadStatus(target).Value)
	if err != nil {
		return "", fmt.Errorf("%s: %s %w", r.Text, target, err)
	}
	return value, nil
}

// workloadFact returns a field of a workload. Host and port come from the spec, so they exist before anything runs.
func workloadFact(target api.Ref, field string, spec api.WorkloadSpec, status *api.WorkloadStatus) (string, error) {
	host := api.ServiceNames(target.Name, target.Scope)[0]
	switch field {
	case "host":
		return host, nil
	case "port":
		return firstPort(spec)
	case "address":
		port, err := firstPort(spec)
		return host + ":" + port, err
	case "image", "release":
		if status == nil || status.Release == "" {
			return "", errNoRelease
		}
		if field == "image" {
			return status.Image, nil
		}
		return status.Release, nil
	}
	// The address of one ordinal: Reference.CheckFact lets no other field through.
	return api.ServiceNames(target.Name+strings.TrimPrefix(field, "host"), target.Scope)[0], nil
}

// firstPort returns the container's side of the first port.
func firstPort(spec api.WorkloadSpec) (string, error) {
	if len(spec.Ports) == 0 {
		return "", fmt.Errorf("declares no ports")
	}
	port, err := api.NormalizePort(spec.Ports[0])
	if err != nil {
		return "", err
	}
	return strconv.Itoa(port.Container.First), nil
}
