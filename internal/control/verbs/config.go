package verbs

import (
	"context"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// Bucket names a set of config values: those of a scope, or with Name those of one app in it.
type Bucket struct{ Scope, Name string }

func (b Bucket) prefix() string {
	if b.Name == "" {
		return records.ConfigScopePrefix(b.Scope)
	}
	return records.ConfigAppPrefix(b.Scope, b.Name)
}

func (b Bucket) String() string {
	if b.Name == "" {
		return b.Scope
	}
	return b.Scope + "/" + b.Name
}

// Check returns why a bucket can hold no keys.
func (b Bucket) Check() error {
	for _, part := range []struct{ is, text string }{{"a scope", b.Scope}, {"the name of an app", b.Name}} {
		if !bucketName().MatchString(part.text) && (part.text != "" || part.is == "a scope") {
			return invalid("name a SCOPE or a SCOPE/NAME: lower-case letters, digits and dashes, as in prod/web",
				"%q can't be %s", part.text, part.is)
		}
	}
	return nil
}

var bucketName = pattern.Lazy(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ConfigChange is a set of changes to one bucket, made at once.
type ConfigChange struct {
	// Set are values to store; equal ones aren't written. Unset are keys to remove.
	Set   map[string]string
	Unset []string
	// Quiet doesn't restart running pods: they get the values with their workload's next release or restart.
	Quiet bool
	Actor string

	rights source.Rights // of the one who asks
}

// SetConfig stores values, encrypted, and removes keys. Removing a key that doesn't exist is an error, because it is
// most likely a typo. The same transaction writes every workload whose environment changes, so that its status says
// when it has observed the change.
func (s *Service) SetConfig(ctx context.Context, bucket Bucket, change ConfigChange) (api.ConfigResult, error) {
	switch {
	case s.opts.Seal == nil || s.opts.Open == nil:
		return api.ConfigResult{}, invalid("start the server with its key",
			"this server has no key to keep values under")
	case change.Quiet && s.opts.EnvHash == nil:
		return api.ConfigResult{}, invalid("leave restart=false out", "this server doesn't compare environments")
	}
	if err := checkConfig(bucket, change.Set, change.Unset); err != nil {
		return api.ConfigResult{}, err
	}
	sealed, err := s.sealAll(change.Set)
	if err != nil {
		return api.ConfigResult{}, err
	}
	change.rights = RightsOf(ctx)
	decided, revision, err := decide(FieldManager{Actor: change.Actor}.asks(ctx, "config"), s,
		func(snap records.Snapshot) (*configDecision, error) {
			d, err := s.prepareConfig(snap, bucket, change, sealed)
			if err == nil {
				d.mark(snap, bucket, change, change.rights.Trusted)
				d.unread(snap, bucket, change.Unset, change.rights)
			}
			if err == nil && !d.txn.Empty() {
				err = s.refuseConfig(change.rights, snap, bucket)
			}
			if err == nil && len(d.result.Created) > 0 && len(d.result.Affected) == 0 {
				d.result.Notes = absentNotes(snap, bucket, change.rights)
			}
			return d, err
		})
	if err != nil {
		return api.ConfigResult{}, err
	}
	result := decided.result
	result.Revision = revision
	for i := range result.Notes {
		result.Notes[i] += undo(bucket, result.Created)
	}
	if revision != 0 { // the log has keys, never values
		s.opts.Logger.Info("config stored", "actor", change.Actor, "revision", revision, "scope",
			bucket.Scope, "name", bucket.Name,
			"set", slices.Concat(result.Created, result.Changed), "unset", change.Unset, "quiet", change.Quiet,
			"affected",
			len(result.Affected))
	}
	result.Affected = seenOf(change.rights, result.Affected, refItself)
	return result, nil
}

func (s *Service) sealAll(values map[string]string) (map[string][]byte, error) {
	sealed := make(map[string][]byte, len(values))
	for key, plain := range values {
		value, err := s.opts.Seal([]byte(plain))
		if err != nil {
			return nil, err
		}
		sealed[key] = value
	}
	return sealed, nil
}

type configDecision struct {
	txn    *records.Txn
	result api.ConfigResult
}

func (d *configDecision) transaction() *records.Txn { return d.txn }

// prepareConfig sorts the keys of a change into new, changed, unchanged and removed ones.
func (s *Service) prepareConfig(
	snap records.Snapshot, bucket Bucket, change ConfigChange, sealed map[string][]byte,
) (*configDecision, error) {
	d := &configDecision{txn: records.NewTxn("config"), result: api.ConfigResult{Scope: bucket.Scope,
		Name: bucket.Name}}
	effect := env.Change{Bucket: env.Bucket(bucket), Set: map[string]string{}, Unset: change.Unset}
	for _, key := range slices.Sorted(maps.Keys(sealed)) {
		record, there := snap.Get(bucket.prefix() + key)
		switch {
		case !there:
			d.result.Created = append(d.result.Created, key)
		case s.holds(record.Value, change.Set[key]):
			d.result.Unchanged = append(d.result.Unchanged, key)
			continue
		default:
			d.result.Changed = append(d.result.Changed, key)
		}
		if api.IsIdentity("", key) {
			d.result.Warnings = append(d.result.Warnings,
				key+" is overruled: Tend sets it in every container, to say who it is")
		}
		effect.Set[key] = change.Set[key]
		d.txn.If(bucket.prefix()+key, record.Modified).Put(bucket.prefix()+key, sealed[key])
	}
	for _, key := range change.Unset {
		record, there := snap.Get(bucket.prefix() + key)
		if !there {
			return nil, noKey(snap, bucket, key)
		}
		d.result.Removed = append(d.result.Removed, key)
		d.txn.If(record.Key, record.Modified).Delete(record.Key)
	}
	d.result.Keys = keysAfter(ConfigKeys(snap, bucket), d.result)
	if len(effect.Set)+len(effect.Unset) > 0 {
		s.updateConsumers(d, snap, effect, change)
	}
	return d, nil
}

// mark records which values of a change no admin has set last, so that what is called at such an address is confined. A
// value that a deployer sets as it is stays an admin's; one that an admin sets as it is becomes one.
func (d *configDecision) mark(snap records.Snapshot, bucket Bucket, change ConfigChange, trusted bool) {
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(change.Set)), change.Unset) {
		value, _ := snap.Get(bucket.prefix() + key)
		marked, there := snap.Get(records.ConfinedKey(bucket.prefix() + key))
		_, set := change.Set[key]
		switch {
		case there && (trusted || !set):
			d.txn.If(bucket.prefix()+key, value.Modified).Delete(marked.Key)
		case !there && !trusted && set && !slices.Contains(d.result.Unchanged, key):
			d.txn.Put(records.ConfinedKey(bucket.prefix()+key), "true")
		}
	}
}

// holds reports whether a stored value is this one. A value that can't be decrypted is set again.
func (s *Service) holds(record any, value string) bool {
	sealed, ok := record.([]byte)
	if !ok {
		return false
	}
	plain, err := s.opts.Open(sealed)
	return err == nil && string(plain) == value
}

func keysAfter(before []string, result api.ConfigResult) []string {
	keys := slices.DeleteFunc(slices.Concat(before, result.Created), func(key string) bool {
		return slices.Contains(result.Removed, key)
	})
	slices.Sort(keys)
	return keys
}
