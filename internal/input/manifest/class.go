package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
)

// expandClass returns the labs of a class: NAME-1 to NAME-<count>. A lab's name doesn't depend on count, so applying
// the manifest with another count leaves the other labs untouched.
func expandClass(d *draft, f *faults) []*draft {
	number, _ := d.spec["count"].(json.Number)
	count, err := number.Int64()
	switch {
	case err != nil || count < 1 || count > api.MaxLabCount:
		f.at(d.src, d.locate("count"), "", "count: %v is outside 1 to %d", d.spec["count"], api.MaxLabCount)
	case d.spec["class"] != nil:
		f.at(d.src, d.locate("class"), "leave one of them out",
			"class and count exclude each other: count makes a class of the block's name")
	case count > 1 && fixesPort(d, f):
	default:
		return membersOf(d, int(count))
	}
	d.broken = true
	return []*draft{d}
}

// fixesPort refuses a port of the host that each lab of a class would publish.
func fixesPort(d *draft, f *faults) bool {
	raw, err := json.Marshal(d.spec)
	var spec api.LabSpec
	if err != nil || json.Unmarshal(raw, &spec) != nil {
		return false // the validation of each lab reports the fault
	}
	fixed := ports.Fixed(spec.Workload())
	for _, port := range fixed {
		next := "leave the host's port out: each lab gets a free port"
		if port.Entry != "" {
			next = fmt.Sprintf("write %q instead of %q: each lab gets a free port", port.Unfixed(), port.Entry)
		}
		f.at(d.src, d.locate(port.Field), next,
			"%s: the labs of a class can't all publish the host's port %s", port.Field, port)
	}
	return len(fixed) > 0
}

// membersOf returns the labs of a class: copies of the draft with numbered names and hosts.
func membersOf(d *draft, count int) []*draft {
	members := make([]*draft, 0, count)
	for number := 1; number <= count; number++ {
		member := *d
		member.object.Metadata.Labels = maps.Clone(d.object.Metadata.Labels)
		member.object.Metadata.Annotations = maps.Clone(d.object.Metadata.Annotations)
		member.object.Name = fmt.Sprintf("%s-%d", d.object.Name, number)
		member.spec = maps.Clone(d.spec)
		delete(member.spec, "count")
		member.spec["class"] = d.object.Name
		if host, named := d.spec["host"].(string); named && host != "" {
			first, rest, dotted := strings.Cut(host, ".")
			member.spec["host"] = fmt.Sprintf("%s-%d", first, number)
			if dotted {
				member.spec["host"] = fmt.Sprintf("%s-%d.%s", first, number, rest)
			}
		}
		members = append(members, &member)
	}
	return members
}
