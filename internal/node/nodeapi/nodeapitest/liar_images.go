package nodeapitest

import (
	"context"
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
)

// exactImage is an image that a manifest pins by its digest.
const exactImage = "exact@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"

func liesAboutImages() []lie {
	answer := func(name string, quiet bool, change func(*api.ImageStatus)) lie {
		status := api.ImageStatus{Owner: web, OwnerUID: "u1", Node: Here, Image: "web:1", State: api.ImagePresent,
			ImageID: "sha256:evil"}
		change(&status)
		l := reporting(name, node.Report{Images: []api.ImageStatus{status}})
		l.quiet = quiet
		return l
	}
	mine := func(s *api.ImageStatus) { s.Owner.Name, s.OwnerUID, s.Image = "mine", "u2", "mine:1" }
	out := []lie{
		answer("in another's name", false, func(s *api.ImageStatus) { s.Node = There }),
		answer("of an object that has no request", true, func(s *api.ImageStatus) { s.Owner.Name = "none" }),
		answer("of an object that was deleted", true, func(s *api.ImageStatus) { s.OwnerUID = "u0" }),
		answer("of another image than was asked for", true, func(s *api.ImageStatus) { s.Image = "web:2" }),
		answer("of another try", true, func(s *api.ImageStatus) { s.Nonce = "n" }),
		answer("another image than before, of one request", false, mine),
		answer("the image is gone after all", true,
			func(s *api.ImageStatus) { mine(s); s.State, s.ImageID = api.ImageFailed, "" }),
		answer("a registry has another image as this one", false,
			func(s *api.ImageStatus) { mine(s); s.ImageID, s.Digest = "sha256:good", "sha256:evil" }),
	}
	for _, digest := range []string{"", "sha256:evil", exactImage} {
		out = append(out, answer("an image that is pinned has the digest "+digest, false, func(s *api.ImageStatus) {
			s.Owner.Name, s.OwnerUID, s.Image, s.Digest = "exact", "u4", exactImage, digest
		}))
	}
	for _, state := range []api.ImageState{api.ImagePulling, api.ImageFailed} {
		out = append(out, answer("it is "+string(state)+" after all", true,
			func(s *api.ImageStatus) { mine(s); s.State, s.ImageID = state, "sha256:good" }))
	}
	for name, first := range map[string]func(*api.ImageStatus){
		"no registry has it":  func(*api.ImageStatus) {},
		"it can't be had":     func(s *api.ImageStatus) { s.State = api.ImageFailed },
		"it is pulled":        func(s *api.ImageStatus) { s.State = api.ImagePulling },
		"it is pulled, again": func(s *api.ImageStatus) { s.State, s.ImageID = api.ImagePulling, "" },
	} {
		before := answer("", false, func(s *api.ImageStatus) { mine(s); s.ImageID = "sha256:good"; first(s) })
		then := answer("", false, mine)
		out = append(out, lie{name: name + ", and then it is another image",
			tell: func(ctx context.Context, c nodeapi.Control) error {
				return errors.Join(before.tell(ctx, c), then.tell(ctx, c))
			}})
	}
	for _, state := range []api.ImageState{api.ImagePresent, api.ImagePulling, api.ImageBuilding, api.ImageFailed} {
		out = append(out, answer("it wasn't asked, and says "+string(state), false,
			func(s *api.ImageStatus) { s.State = state }))
	}
	for _, owner := range []api.Ref{web, {Kind: api.KindDeployment, Scope: "prod", Name: "mine"}} {
		l := reporting("it forgets the answer about "+owner.Name, node.Report{ForgetImages: []api.Ref{owner}})
		l.quiet = true
		out = append(out, l)
	}
	return out
}
