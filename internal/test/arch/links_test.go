package arch

import (
	"os/exec"
	"strings"
	"testing"
)

// unlinked are modules that bin/tend must not link, not even through another module.
var unlinked = map[string]string{
	"sigs.k8s.io/controller-runtime": "the operator is a program of its own",
	"k8s.io/api":                     "the types of all of Kubernetes cost the server megabytes that it has no use for",
}

// TestTheServerLinksNoOperator asks Go what cmd/tend consists of, and that cmd/tend-operator does link what is banned
// there: a name that changed would hide the fault.
func TestTheServerLinksNoOperator(t *testing.T) {
	server, operator := linked(t, "cmd/tend"), linked(t, "cmd/tend-operator")
	for banned, why := range unlinked {
		if found := below(server, banned); found != "" {
			t.Errorf("cmd/tend links %s: %s", found, why)
		}
		if below(operator, banned) == "" {
			t.Errorf("cmd/tend-operator does not link %s: take it off the list", banned)
		}
	}
}

// TestNoFailpointsAreShipped: an environment variable kills only a tend that a test built, with the tag failpoints.
func TestNoFailpointsAreShipped(t *testing.T) {
	const failpoints = module + "/internal/test/fault"
	if below(linked(t, "cmd/tend"), failpoints) != "" {
		t.Errorf("cmd/tend links %s", failpoints)
	}
	if below(linked(t, "cmd/tend", "-tags", "failpoints"), failpoints) == "" {
		t.Errorf("with the tag failpoints cmd/tend does not link %s", failpoints)
	}
}

func linked(t *testing.T, folder string, flags ...string) []string {
	t.Helper()
	command := exec.Command("go", append(append([]string{"list", "-deps"}, flags...), module+"/"+folder)...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", folder, err)
	}
	return strings.Fields(string(out))
}

func below(packages []string, folder string) string {
	for _, name := range packages {
		if within(name, folder) {
			return name
		}
	}
	return ""
}
