package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// bySeverity are the healths of objects in a cluster, what matters most first.
var bySeverity = []api.ClusterHealth{
	api.ClusterDegraded, api.ClusterMissing, api.ClusterProgressing, api.ClusterUnknown, api.ClusterHealthy, "",
}

// describeInventory lists what an application consists of in its cluster: what is wrong first, and objects of one kind
// and health in one line.
func describeInventory(w plain, status api.DeliveredStatus) {
	if status.ObjectCount == 0 {
		return
	}
	w.printf("  %d objects in the cluster", status.ObjectCount)
	if status.Health != "" {
		w.printf(" (%s)", status.Health)
	}
	if shown := len(status.Objects); shown < status.ObjectCount {
		w.printf(", of which the first %d are", shown)
	}
	w.printf(":\n")
	for _, group := range groupObjects(status.Objects) {
		w.printf("    ")
		if group.Health != "" {
			w.printf("%s: ", group.Health)
		}
		w.printf("%s %s", group.Kind, group.Name)
		if group.Message != "" {
			w.printf(": %s", group.Message)
		}
		w.printf("\n")
	}
}

// groupObjects returns one object, with all names, for those of one kind, health and message.
func groupObjects(objects []api.ClusterObject) (groups []api.ClusterObject) {
	for _, o := range objects {
		same := func(g api.ClusterObject) bool {
			return g.Kind == o.Kind && g.Health == o.Health && g.Message == o.Message
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i].Name += ", " + o.Name
			continue
		}
		groups = append(groups, o)
	}
	slices.SortStableFunc(groups, func(a, b api.ClusterObject) int {
		return cmp.Or(
			cmp.Compare(slices.Index(bySeverity, a.Health), slices.Index(bySeverity, b.Health)),
			strings.Compare(a.Kind, b.Kind),
		)
	})
	return groups
}

// healthState returns the state and message of an object whose delivery is in order, with what is wrong in its cluster.
func healthState(status api.DeliveredStatus, state, message string) (string, string) {
	if slices.Index(bySeverity, status.Health) > slices.Index(bySeverity, api.ClusterProgressing) {
		return state, message
	}
	if status.Health != api.ClusterProgressing {
		state = string(status.Health)
	}
	for _, group := range groupObjects(status.Objects) {
		if group.Health == status.Health {
			return state, fmt.Sprintf("%s %s: %s", group.Kind, group.Name, group.Message)
		}
	}
	return state, message
}
