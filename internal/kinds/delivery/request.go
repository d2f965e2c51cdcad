package delivery

import (
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/store/records"
)

// The reasons why a call can't be made.
var (
	errObjectGone = errors.New("the object is gone")
	errHookGone   = errors.New("the manifest names this target no longer")
)

// request builds the call from the current object.
func (c *deliveries) request(s records.Snapshot, d api.Delivery) (webhook.Request, error) {
	object := s.Object(d.Owner()).Value
	if object == nil {
		return webhook.Request{}, errObjectGone
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return webhook.Request{}, err
	}
	hook := spec.HookAt(d.Hook)
	if hook == nil {
		return webhook.Request{}, errHookGone
	}
	var file []byte
	if hook.File != "" {
		if file, err = c.file(*object, hook.File); err != nil {
			return webhook.Request{}, err
		}
	}
	return webhook.Call{
		Hook: *hook, Delivery: d, File: file, Key: object.Metadata.UID + "-" + d.ID, Agent: c.Agent,
		Confined: object.Confined(),
		Spaces:   c.environments.Spaces(s, object.Ref(), spec.EnvFrom),
	}.Request()
}

// file reads the asset of a hook's body, in the version that the object was stored with.
func (c *deliveries) file(object api.Object, text string) ([]byte, error) {
	digests := object.HookDigests()
	for _, reference := range api.References(text) { // one, as validation has it
		if key, ok := api.AssetKey(reference, object.Scope, func(key string) bool { return digests[key] != "" }); ok {
			content, err := c.Blob(digests[key])
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", text, err)
			}
			return content, nil
		}
	}
	return nil, fmt.Errorf("no asset of this digest is stored: %s", text)
}
