package verbs

import (
	"encoding/json"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// secretFields are the fields of a registry that are never returned.
var secretFields = []string{"token", "password"}

// sealSecrets returns the object as it may be stored: a registry's token is encrypted at this border, so that no store,
// log, diff or answer ever has it. A token that is sealed already, as `get` shows it, must be the stored one.
func (s *Service) sealSecrets(stored records.Read[api.Object], object api.Object, found *faults) (api.Object, error) {
	if object.Kind != api.KindRegistry {
		return object, nil
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
	for _, name := range secretFields {
		var plain, sealed string
		if json.Unmarshal(fields[name], &plain) != nil || plain == "" {
			continue // validation reports it
		}
		_ = json.Unmarshal(before[name], &sealed) // empty if there is none
		if strings.HasPrefix(plain, api.SealedPrefix) {
			if plain != sealed {
				found.add(Invalid, object.Ref(), name, "give the token itself", "is sealed, and not as it is stored for this registry")
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
		return "", invalid("start the server with its key", "this server has no key to keep tokens under")
	}
	mac := s.opts.MAC([]byte("registry token\n" + plain))
	if records.TokenMAC(before) == mac {
		return before, nil
	}
	sealed, err := s.opts.Seal([]byte(plain))
	return records.SealedToken(mac, sealed), err
}

// checkRegistries refuses a second registry for one host: it would be undefined which token counts.
func checkRegistries(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	owners, skip := map[string]api.Ref{}, map[api.Ref]bool{}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	asked := false
	for _, object := range written {
		skip[object.Ref()] = true
		asked = asked || object.Kind == api.KindRegistry
	}
	if !asked {
		return
	}
	for object := range snap.Objects(api.KindRegistry) {
		if !skip[object.Value.Ref()] {
			owners[hostOf(*object.Value)] = object.Value.Ref()
		}
	}
	for _, object := range written {
		if object.Kind != api.KindRegistry {
			continue
		}
		host := hostOf(object)
		if owner, taken := owners[host]; taken {
			found.add(RegistryTaken, object.Ref(), "url", "change or delete one of them", "%s already declares %s", owner, host)
		}
		owners[host] = object.Ref()
	}
}

func hostOf(object api.Object) string {
	spec, err := api.DecodeSpec[api.RegistrySpec](object)
	if err != nil {
		return ""
	}
	return spec.Host()
}
