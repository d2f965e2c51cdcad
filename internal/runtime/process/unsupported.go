package process

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/runtime"
)

// confined refuses what must stay away from the host: a plain process reads and runs whatever its account may.
func confined(does string) error {
	return &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime,
		Detail: "the process runtime isolates nothing: what a deployer, or a sync that is not trusted, declared never " + does + " there",
		Next:   "run it on a node with Docker; or have it deleted, and an admin apply it",
	}
}

// unsupported refuses a spec with fields that a plain process can't support. The error names all of them at once.
func unsupported(spec runtime.ContainerSpec) error {
	if spec.Confined {
		return confined("runs")
	}
	names := fit.Unsupported(spec.Spec)
	if len(names) == 0 {
		return nil
	}
	return &runtime.RejectedError{
		Reason: api.ReasonUnsupportedByProcessRuntime,
		Detail: fmt.Sprintf("plain processes can't honour %s", strings.Join(names, ", ")),
		Next:   "leave them out, or run on a node with Docker",
	}
}
