package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Kind is a kind of runtime. Empty is any, or unknown.
type Kind string

// The kinds of runtimes.
const (
	Containers Kind = "containers" // a container engine
	Processes  Kind = "processes"  // plain processes of the node
)

// KindOf returns the kind of a runtime by the name that its node reports. Every runtime but that of plain processes is
// a container engine.
func KindOf(runtime string) Kind {
	switch runtime {
	case "":
		return ""
	case api.RuntimeProcess:
		return Processes
	}
	return Containers
}

// Takes reports whether a runtime is of the kind. A runtime that isn't known yet is.
func (k Kind) Takes(runtime string) bool {
	is := KindOf(runtime)
	return k == "" || is == "" || is == k
}

// Need holds the demands of a pod on its runtime: why it must be of a kind. Both are empty where any will do. If both
// are set, no runtime can run the pod.
type Need struct {
	// Containers is the reason why only a container engine can run it, Processes the reason why only plain processes
	// can.
	Containers, Processes string
	// without is the alternative to adding a node with a container engine, instead the alternative to adding one of
	// plain processes; empty if only a node helps.
	without, instead string
}

// NotBuilt is the reason why a build needs a container engine, BuildYourself the next step without one.
const (
	NotBuilt      = "plain processes are not built from source"
	BuildYourself = "build the program, and name its folder in `image`"
)

// Lacking returns the reason why plain processes can't run a pod that has the fields.
func Lacking(fields ...string) string {
	return "plain processes can't have " + strings.Join(fields, ", ")
}

// LeaveOut returns the step for plain processes that can't have the fields.
func LeaveOut(fields ...string) string {
	return "leave out `" + strings.Join(fields, "`, `") + "`"
}

// Facts holds the facts about pods that their spec doesn't contain.
type Facts struct {
	// Confined: a deployer, or a sync that isn't trusted, declared it.
	Confined bool
	// Runtime is the name of the runtime that has the image, empty while it isn't known. Images don't travel between
	// kinds.
	Runtime string
}

// Of returns what the pods of a spec need.
func Of(spec api.WorkloadSpec, facts Facts) (n Need) {
	fields := Unsupported(spec.DeploymentSpec)
	if len(spec.Claims) > 0 {
		fields = append(fields, "volume_claims")
	}
	switch {
	case facts.Confined:
		n.Containers = "what a deployer, or a sync that is not trusted, declared never runs as a plain process"
		n.without = "have it deleted, and an admin apply it"
	case len(fields) > 0:
		n.Containers, n.without = Lacking(fields...), LeaveOut(fields...)
	case spec.Build != nil:
		n.Containers, n.without = NotBuilt, BuildYourself
	case KindOf(facts.Runtime) == Containers:
		n.Containers = "its image is one of a container engine"
	}
	switch folder := folderOf(spec); {
	case folder != "":
		n.Processes = "its image is a folder (" + folder + ")"
		n.instead = "name an image as docker pull takes it"
	case KindOf(facts.Runtime) == Processes:
		n.Processes = "its image is one of plain processes"
	}
	return n
}

// Release returns what the pods of a release need.
func Release(r api.Release) Need {
	spec, err := api.DecodeWorkload(r.Kind, r.Spec)
	if err != nil {
		return Need{} // what can't be read requires nothing
	}
	return Of(spec, Facts{Confined: r.Confined, Runtime: r.RequiredRuntime()})
}

// Within adds what the constraints of the spec's placement say of the runtime.
func (n Need) Within(placement *api.Placement) Need {
	if placement == nil {
		return n
	}
	for _, entry := range placement.Constraints {
		c, err := api.ParseNodeConstraint(entry)
		if err != nil || c.Attribute != api.NodeRuntime {
			continue
		}
		switch processes := c.Value == api.RuntimeProcess; {
		case processes && !c.Not && n.Processes == "":
			n.Processes = "placement.constraints has " + entry
		case processes == c.Not && n.Containers == "":
			n.Containers = "placement.constraints has " + entry
		}
	}
	return n
}

// Kind returns the kind that it needs; empty if any will do, or none can.
func (n Need) Kind() Kind {
	switch {
	case n.Containers != "" && n.Processes == "":
		return Containers
	case n.Processes != "" && n.Containers == "":
		return Processes
	}
	return ""
}

// Takes reports whether a node can run the pod, by the runtime that it reports. One that reported none yet may.
func (n Need) Takes(runtime string) bool {
	switch KindOf(runtime) {
	case Containers:
		return n.Processes == ""
	case Processes:
		return n.Containers == ""
	}
	return true
}

// Refuses returns the reason why a runtime can't run the pod, to continue "node n1 "; empty if it can.
func (n Need) Refuses(runtime string) string {
	switch {
	case n.Takes(runtime):
		return ""
	case KindOf(runtime) == Processes:
		return "runs plain processes, not containers: " + n.Containers
	}
	return "runs containers, not plain processes: " + n.Processes
}

// Never begins the message of Missing if no node that could be added would help.
const Never = "no node can run it: "

// Missing says that none of the runtimes can run the pod, and what to do; empty if one can, or if there are none.
func (n Need) Missing(runtimes []string) (message, next string) {
	if len(runtimes) == 0 || slices.ContainsFunc(runtimes, n.Takes) {
		return "", ""
	}
	switch {
	case n.Containers != "" && n.Processes != "":
		instead := n.instead // it needs a node that runs containers
		if n.without != "" && !slices.ContainsFunc(runtimes, func(r string) bool { return KindOf(r) == Containers }) {
			instead = ""
		}
		return fmt.Sprintf(Never+"%s, and %s", n.Processes, n.Containers),
			either(instead, cmp.Or(n.without, "correct the manifest and apply again"))
	case n.Containers != "":
		return "no node runs containers, which it needs: " + n.Containers,
			either(n.without, "add a node with Docker (tend nodes add)")
	}
	return "no node runs plain processes, which it needs: " + n.Processes,
		either(n.instead, "add a node of plain processes (tend nodes add, then tend agent --runtime process)")
}

// either returns two steps of which one is enough; the first may be empty.
func either(first, second string) string {
	if first == "" {
		return second
	}
	return first + ", or " + second
}
