package intent

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// Bucket names a set of config values: a scope's, or with Name one app's in it.
type Bucket struct{ Scope, Name string }

func (b Bucket) prefix() string {
	if b.Name == "" {
		return layout.ConfigScopePrefix(b.Scope)
	}
	return layout.ConfigAppPrefix(b.Scope, b.Name)
}

func (b Bucket) check() error {
	if !bucketName.MatchString(b.Scope) || (b.Name != "" && !bucketName.MatchString(b.Name)) {
		return invalid("scope and name are lower-case letters, digits and dashes", "no bucket can be called %q/%q", b.Scope, b.Name)
	}
	return nil
}

const (
	maxConfigKeys  = 1000
	maxConfigValue = 64 << 10
)

var (
	bucketName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	configKey  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

type configDecision struct {
	txn    *layout.Txn
	result api.ConfigResult
}

func (d *configDecision) transaction() *layout.Txn { return d.txn }

// SetConfig stores values, encrypted, and removes the keys in unset. Removing one that isn't there is an error: it is
// most likely a slip of the pen.
func (s *Service) SetConfig(ctx context.Context, bucket Bucket, set map[string]string, unset []string, actor string,
) (api.ConfigResult, error) {
	if s.opts.Seal == nil {
		return api.ConfigResult{}, invalid("start the server with its key", "this server has no key to keep values under")
	}
	if err := checkConfig(bucket, set, unset); err != nil {
		return api.ConfigResult{}, err
	}
	sealed := make(map[string][]byte, len(set))
	for key, plain := range set {
		value, err := s.opts.Seal([]byte(plain))
		if err != nil {
			return api.ConfigResult{}, err
		}
		sealed[key] = value
	}
	decided, revision, err := decide(ctx, s, func(snap layout.Snapshot) (*configDecision, error) {
		return prepareConfig(snap, bucket, sealed, unset)
	})
	if err != nil {
		return api.ConfigResult{}, err
	}
	decided.result.Revision = revision
	// Keys are told, values never.
	s.opts.Logger.Info("config stored", "actor", actor, "revision", revision, "scope", bucket.Scope, "name", bucket.Name,
		"set", slices.Sorted(maps.Keys(set)), "unset", unset)
	return decided.result, nil
}

func checkConfig(bucket Bucket, set map[string]string, unset []string) error {
	if err := bucket.check(); err != nil {
		return err
	}
	if len(set)+len(unset) == 0 {
		return invalid("give KEY=VALUE pairs, or keys to remove", "nothing to set")
	}
	if len(set)+len(unset) > maxConfigKeys {
		return &Error{Reason: TooLarge, Detail: "more than 1000 keys at once", Next: "set them in parts"}
	}
	for key, v := range set {
		if !configKey.MatchString(key) {
			return invalid("use letters, digits and _, not beginning with a digit", "%q is no name of a variable", key)
		}
		if err := api.CheckEnv(key, v); err != nil { // runtimes quote a variable they can't set, value and all
			return invalid("mount a file for binary data", "%s: %v", key, err)
		}
		if len(v) > maxConfigValue {
			return &Error{Reason: TooLarge, Detail: "the value of " + key + " is larger than 64 KiB", Next: "mount a file instead"}
		}
	}
	for _, key := range unset {
		if _, both := set[key]; both {
			return invalid("choose one", "%s is to be set and removed", key)
		}
	}
	return nil
}

func prepareConfig(snap layout.Snapshot, bucket Bucket, sealed map[string][]byte, unset []string) (*configDecision, error) {
	decided := &configDecision{txn: layout.NewTxn("config"), result: api.ConfigResult{Scope: bucket.Scope, Name: bucket.Name}}
	for _, key := range slices.Sorted(maps.Keys(sealed)) {
		decided.txn.Put(bucket.prefix()+key, sealed[key])
	}
	for _, key := range unset {
		record, ok := snap.Get(bucket.prefix() + key)
		if !ok {
			return nil, notFound("`tend config list` shows the keys there are", "there is no key %s", key)
		}
		decided.txn.If(record.Key, record.Modified).Delete(record.Key)
	}
	kept := map[string]bool{}
	for _, key := range ConfigKeys(snap, bucket) {
		kept[key] = !slices.Contains(unset, key)
	}
	for key := range sealed {
		kept[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if kept[key] {
			decided.result.Keys = append(decided.result.Keys, key)
		}
	}
	return decided, nil
}

// ConfigKeys are the keys of a bucket. Values are never handed out.
func ConfigKeys(snap layout.Snapshot, bucket Bucket) []string {
	var keys []string
	for record := range snap.Prefix(bucket.prefix()) {
		keys = append(keys, record.Key[len(bucket.prefix()):])
	}
	return keys
}
