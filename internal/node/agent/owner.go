package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/node/runtime"
)

// owner is the owner of a secret file.
type owner struct{ uid, gid int }

// ownerOf returns the user of a release's containers: from the spec, else from its docker_options, else from the image.
// It must be a number: a name can only be resolved inside the image.
func (a *Agent) ownerOf(ctx context.Context, release node.Release) (owner, error) {
	user := release.Spec.User
	if options, err := dockerflags.Parse(release.Spec.DockerOptions); user == "" && err == nil {
		user = options.User
	}
	if user == "" {
		image, err := a.pulls.local(ctx, release)
		if err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return owner{}, err
		}
		user = image.User // without an image no container is created; it is called again
	}
	return parseOwner(user)
}

func parseOwner(user string) (owner, error) {
	name, group, hasGroup := strings.Cut(user, ":")
	if name == "" || name == "root" {
		name = "0"
	}
	if group == "root" {
		group = "0"
	}
	if !hasGroup {
		group = name
	}
	uid, err := strconv.Atoi(name)
	gid, groupErr := strconv.Atoi(group)
	if err != nil || groupErr != nil || uid < 0 || gid < 0 {
		return owner{}, &runtime.RejectedError{
			Reason: "SecretFileOwner",
			Detail: fmt.Sprintf("secret files belong to the container's user, and %q is a name that only its image knows", user),
			Next:   `say who it is by number, as in user = "1000:1000"`,
		}
	}
	return owner{uid, gid}, nil
}
