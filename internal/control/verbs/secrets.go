package verbs

import (
	"encoding/json"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// secretFields are the fields that are never returned.
var secretFields = map[api.Kind][]string{
	api.KindRegistry: {"token", "password"},
	api.KindSync:     {"password", "ssh_key"},
}

// sealSecrets returns the object as it may be stored: a secret is encrypted at this border, so that no store, log, diff
// or answer ever has it. One that is sealed already, as `get` shows it, must be the stored one.
func (s *Service) sealSecrets(stored records.Read[api.Object], object api.Object, found *faults) (api.Object, error) {
	secrets := secretFields[object.Kind]
	if len(secrets) == 0 {
		return object, nil
	}
	object, err := splitCredentials(object)
	if err != nil {
		return object, err
	}
	fields, err := fieldsOf(object.Spec)
	if err != nil {
		return object, err
	}
	var before map[string]json.RawMessage
	if stored.Exists() {
		if before, err = fieldsOf(stored.Value.Spec); err != nil {
			return object, err
		}
	}
	for _, name := range secrets {
		var plain, sealed string
		if json.Unmarshal(fields[name], &plain) != nil || plain == "" {
			continue // validation reports it
		}
		_ = json.Unmarshal(before[name], &sealed) // empty if there is none
		if strings.HasPrefix(plain, api.SealedPrefix) {
			if plain != sealed {
				found.add(Invalid, object.Ref(), name, "give the secret itself",
					"is sealed, and not as it is stored for this %s", object.Kind)
			}
			continue
		}
		if sealed, err = s.seal(plain, sealed); err != nil {
			return object, err
		}
		if object.Spec, err = withField(object.Spec, name, text(sealed)); err != nil {
			return object, err
		}
	}
	return object, nil
}

// seal encrypts a secret. An unchanged secret keeps its stored text, so that applying it again changes nothing.
func (s *Service) seal(plain, before string) (string, error) {
	if s.opts.Seal == nil || s.opts.MAC == nil {
		return "", invalid("start the server with its key", "this server has no key to keep secrets under")
	}
	mac := s.opts.MAC([]byte("registry token\n" + plain))
	if records.TokenMAC(before) == mac {
		return before, nil
	}
	sealed, err := s.opts.Seal([]byte(plain))
	return records.SealedToken(mac, sealed), err
}

// splitCredentials returns a sync with the credentials of its URL in the fields that are encrypted, and any other
// object as it is.
func splitCredentials(object api.Object) (api.Object, error) {
	if object.Kind != api.KindSync {
		return object, nil
	}
	spec, err := api.DecodeSpec[api.SyncSpec](object)
	if err != nil {
		return object, err
	}
	split := spec.SplitCredentials()
	for name, value := range map[string][2]string{
		"git": {spec.Git, split.Git}, "http": {spec.HTTP, split.HTTP}, "username": {spec.Username, split.Username},
		"password": {spec.Password, split.Password},
	} {
		if value[0] == value[1] {
			continue
		}
		var now json.RawMessage
		if value[1] != "" {
			now = text(value[1])
		}
		if object.Spec, err = withField(object.Spec, name, now); err != nil {
			return object, err
		}
	}
	return object, nil
}
