package delivery

import (
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/store/records"
)

// The reasons why a call can't be made.
var (
	errObjectGone = errors.New("the object is gone")
	errHookGone   = errors.New("the manifest names this target no longer")
)

// prepared holds the input for a delivery's request, except the content of the hook's file.
type prepared struct {
	webhook.Call
	// digest is the digest of the file; empty if the hook names no file.
	digest string
}

// prepare reads the current object.
func (c *deliveries) prepare(s records.Snapshot, d api.Delivery) (prepared, error) {
	object := s.Object(d.Owner()).Value
	if object == nil {
		return prepared{}, errObjectGone
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return prepared{}, err
	}
	hook := spec.HookAt(d.Hook)
	if hook == nil {
		return prepared{}, errHookGone
	}
	ready := prepared{Call: webhook.Call{
		Hook: *hook, Delivery: d, Key: object.Metadata.UID + "-" + d.ID, Agent: c.Agent,
		Confined: object.Confined() || environment.Confines(s, object.Ref(), spec.EnvFrom, hook.URL),
		Spaces:   c.environments.Spaces(s, object.Ref(), spec.EnvFrom),
	}}
	if hook.File != "" {
		ready.digest, err = fileOf(*object, hook.File)
	}
	return ready, err
}

// fileOf returns the digest of a hook's file, in the version that the object was stored with.
func fileOf(object api.Object, text string) (string, error) {
	digests := object.HookDigests()
	for _, reference := range api.References(text) { // one, as validation has it
		if key, ok := api.AssetKey(reference, object.Scope, func(key string) bool { return digests[key] != "" }); ok {
			return digests[key], nil
		}
	}
	return "", fmt.Errorf("no asset of this digest is stored: %s", text)
}

// request reads the file and builds the request.
func (c *deliveries) request(ready prepared) (webhook.Request, error) {
	if ready.digest != "" {
		content, err := c.Blob(ready.digest)
		if err != nil {
			return webhook.Request{}, fmt.Errorf("read %s: %w", ready.Hook.File, err)
		}
		ready.File = content
	}
	return ready.Call.Request()
}
