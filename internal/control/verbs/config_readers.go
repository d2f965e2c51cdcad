package verbs

import (
	"encoding/json"
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// configReaders returns the sinks and webhooks that read keys of a bucket when they send something, with the field that
// refers to each. No container has these values, so nothing shows that they are gone until the next message fails.
func configReaders(snap records.Snapshot, bucket env.Bucket, keys []string) []api.Dependent {
	var out []api.Dependent
	read := func(object api.Object, within string, part any, envFrom []string) {
		var fields any
		if text, err := json.Marshal(part); err != nil || json.Unmarshal(text, &fields) != nil {
			return
		}
		reference.Walk(fields, func(path, text string) {
			for _, r := range api.References(text) {
				if r.Escaped || r.Space != api.SpaceConfig || r.Check() != nil {
					continue
				}
				buckets, key := env.OfReference(object.Ref(), envFrom, r)
				if slices.Contains(buckets, bucket) && slices.Contains(keys, key) {
					out = append(out, api.Dependent{Ref: object.Ref(), Field: within + path, Config: key})
				}
			}
		})
	}
	for object := range snap.Objects(api.KindSink) {
		if !object.Value.Metadata.Deleting() {
			read(*object.Value, "", object.Value.Spec, nil)
		}
	}
	for object := range consumers(snap) {
		spec, err := api.DecodeWorkload(object.Value.Kind, object.Value.Spec)
		if err != nil {
			continue // apply has refused it; a version to come may write what this one can't read
		}
		for path, hook := range spec.Hooks() {
			read(*object.Value, path+".", hook, spec.EnvFrom)
		}
	}
	return out
}

// unread warns of the sinks and webhooks that read what a change removes.
func (d *configDecision) unread(snap records.Snapshot, bucket Bucket, removed []string, rights source.Rights) {
	for _, reader := range configReaders(snap, env.Bucket(bucket), removed) {
		if rights.Sees(reader.Ref.Scope) {
			d.result.Warnings = append(d.result.Warnings, fmt.Sprintf("%s reads %s of %s (%s), which is removed",
				reader.Ref, reader.Config, bucket, reader.Field))
		}
	}
}
