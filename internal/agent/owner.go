package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/runtime"
)

// owner is who a secret file belongs to.
type owner struct{ uid, gid int }

// ownerOf is the user of a release's containers: what the spec says, else its docker_options, else the image. A name can't
// be told without looking into the image, so it must be a number.
func (a *Agent) ownerOf(ctx context.Context, release node.Release) (owner, error) {
	user := release.Spec.User
	if options, err := dockerflags.Parse(release.Spec.DockerOptions); user == "" && err == nil {
		user = options.User
	}
	if user == "" {
		image, err := a.runtime.Resolve(ctx, identity(release))
		if err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return owner{}, err
		}
		user = image.User // of an image that isn't here no container is made; it is asked for again
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
			Reason: "SecretFileOwner", Detail: fmt.Sprintf("secret files belong to the container's user, and %q is a name that only its image knows", user),
			Next: `say who it is by number, as in user = "1000:1000"`,
		}
	}
	return owner{uid, gid}, nil
}
