package docker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/moby/moby/client"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/portowner"
)

var takenPort = pattern.Lazy(`:(\d+) is in use$`)

// withOwner adds to the error of an occupied port the container or process that occupies it, if it can be found.
func (r *Runtime) withOwner(ctx context.Context, err error) error {
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "PortTaken" {
		return err
	}
	found := takenPort().FindStringSubmatch(rejected.Detail)
	if found == nil {
		return err
	}
	holder, next := r.publisher(ctx, found[1])
	port, _ := strconv.Atoi(found[1])
	if _, local := r.local(); holder == "" && local {
		if owner, ok := portowner.Of(port); ok {
			holder = owner.String()
		}
	}
	if holder == "" {
		return err
	}
	named := *rejected
	named.Detail += " by " + holder
	if next != "" {
		named.Next = next
	}
	return &named
}

// publisher returns the running container that publishes a host port, and the next step if it is Compose's; "" if none
// is known.
func (r *Runtime) publisher(ctx context.Context, port string) (holder, next string) {
	list, err := r.client.ContainerList(ctx,
		client.ContainerListOptions{Filters: make(client.Filters).Add("publish", port)})
	if err != nil {
		return "", "" // the error then lacks the owner
	}
	for _, c := range list.Items {
		for _, published := range c.Ports {
			if strconv.Itoa(int(published.PublicPort)) == port && len(c.Names) > 0 {
				return holderOf(c.Names[0][1:], c.Labels, runtime.FreePort)
			}
		}
	}
	return "", ""
}

// holderOf names a container and the next step: if Compose made it, taking its project over, else otherwise.
func holderOf(name string, labels map[string]string, otherwise string) (holder, next string) {
	holder = "container " + name
	project, service := labels[volumes.LabelProject], labels[volumes.LabelService]
	if project == "" || service == "" {
		return holder, ""
	}
	return fmt.Sprintf("%s (service %s of the Compose project %s)", holder, service, project),
		"take the project over: tend adopt compose; or " + otherwise
}

// nameTaken returns the error for a container's name that is in use. If Compose made the other container, the error
// names its project.
func (r *Runtime) nameTaken(ctx context.Context, name string) error {
	rejected := &runtime.RejectedError{Reason: "NameTaken", Detail: fmt.Sprintf("create container %s: %v", name, runtime.ErrNameTaken),
		Next: "docker rename or remove the other container; Tend retries"}
	found, err := r.client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err == nil && found.Container.Config != nil {
		if holder, next := holderOf(name, found.Container.Config.Labels, "rename or remove it; Tend retries"); next != "" {
			rejected.Detail, rejected.Next = rejected.Detail+" by "+holder, next
		}
	}
	return errors.Join(rejected, runtime.ErrNameTaken)
}
