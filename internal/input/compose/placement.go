package compose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// reservations converts deploy.resources.reservations.
func (c *converter) reservations(u *unit, d *types.DeployConfig, out *api.Container) {
	if d == nil || d.Resources.Reservations == nil {
		return
	}
	reserved, here := d.Resources.Reservations, u.at+".deploy.resources.reservations"
	c.report.carry(u.at+".deploy.resources", here, here+".cpus", here+".memory")
	u.place("resources.reservations.cpu", here+".cpus")
	u.place("resources.reservations.memory", here+".memory")
	next := &api.ResourceReservations{}
	if reserved.NanoCPUs > 0 {
		next.CPU = cores(float32(reserved.NanoCPUs))
	}
	if reserved.MemoryBytes > 0 {
		next.Memory = strconv.FormatInt(int64(reserved.MemoryBytes), 10)
	}
	if *next == (api.ResourceReservations{}) {
		return
	}
	if out.Resources == nil {
		out.Resources = &api.Resources{}
	}
	out.Resources.Reservations = next
}

// placement converts deploy.placement. own is the reference of the workload itself; empty if it has none.
func (c *converter) placement(u *unit, d *types.DeployConfig, own string, out *api.Container) {
	if d == nil {
		return
	}
	placed, here := d.Placement, u.at+".deploy.placement"
	next := &api.Placement{}
	for i, text := range placed.Constraints {
		at := fmt.Sprintf("%s.constraints[%d]", here, i)
		constraint, err := nodeConstraint(text)
		if err != nil {
			c.report.lost(at, Changes, "%v", err)
			continue
		}
		c.report.carry(here, here+".constraints", at)
		u.from("placement.constraints", at)
		next.Constraints = append(next.Constraints, constraint)
	}
	c.spread(here, placed.Preferences, next)
	switch at := here + ".max_replicas_per_node"; {
	case placed.MaxReplicas == 1 && own != "":
		c.report.carry(here, at)
		next.AntiAffinity = []string{own}
	case placed.MaxReplicas > 0:
		c.report.lost(at, Changes, "Tend has 1, as an anti-affinity of the workload with itself, or no bound")
	}
	if next.Constraints != nil || next.Spread != "" || next.AntiAffinity != nil {
		out.Placement = next
	}
}

// spread converts the first valid preference, and reports the others as lost.
func (c *converter) spread(here string, preferences []types.PlacementPreferences, out *api.Placement) {
	for i, preference := range preferences {
		at := fmt.Sprintf("%s.preferences[%d]", here, i)
		attribute := nodeAttribute(preference.Spread)
		if _, err := api.ParseNodeConstraint(attribute + " == x"); err != nil {
			c.report.lost(at+".spread", Changes, "%v", err)
			continue
		}
		if out.Spread != "" {
			c.report.lost(at+".spread", Changes, "one spread is possible")
			continue
		}
		c.report.carry(here, here+".preferences", at, at+".spread")
		out.Spread = attribute
	}
}

// nodeConstraint converts a constraint as Swarm writes it.
func nodeConstraint(text string) (string, error) {
	operator := "=="
	attribute, value, found := strings.Cut(text, operator)
	if !found {
		operator = "!="
		attribute, value, found = strings.Cut(text, operator)
	}
	if !found {
		return "", fmt.Errorf("%q has neither == nor !=", text)
	}
	attribute, value = nodeAttribute(strings.TrimSpace(attribute)), strings.TrimSpace(value)
	if known := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[value]; known != "" && attribute == api.NodeArch {
		value = known
	}
	constraint := attribute + " " + operator + " " + value
	_, err := api.ParseNodeConstraint(constraint)
	return constraint, err
}

// nodeAttribute returns Tend's name of a node's attribute.
func nodeAttribute(name string) string {
	switch name {
	case "node.platform.arch":
		return api.NodeArch
	case "node.platform.os":
		return api.NodeOS
	}
	return name
}
