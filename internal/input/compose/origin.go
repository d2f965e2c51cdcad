package compose

import (
	"fmt"
	"slices"
	"strings"
)

// composeKeys are the keys of Compose for fields of a manifest, where they are called otherwise.
var composeKeys = map[string]string{
	"env": "environment", "secret_files": "secrets", "aliases": "networks", "replicas": "scale",
	"strategy":  "deploy.update_config",
	"placement": "deploy.placement", "logs": "logging", "probes": "healthcheck", "retries": "restart",
	"mode": "deploy.mode", "resources": "deploy.resources",
}

// from records the key of the file that a list's next entry comes from.
func (u *unit) from(field, at string) {
	if u.origins == nil {
		u.origins = map[string][]string{}
	}
	u.origins[field] = append(u.origins[field], at)
}

// list records that a list's entries come from one key of the file, in order.
func (u *unit) list(field, key string, entries int) {
	for i := range entries {
		u.from(field, fmt.Sprintf("%s.%s[%d]", u.at, key, i))
	}
}

// place records the key of the file that a field comes from. The first call for a field wins.
func (u *unit) place(field, at string) {
	if u.places == nil {
		u.places = map[string]string{}
	}
	if _, known := u.places[field]; !known {
		u.places[field] = at
	}
}

// origin returns the key of the file that a value of the manifest comes from, and removes the value from the record of
// its list.
func (u *unit) origin(path []any) string {
	field, _ := path[0].(string)
	names := []string{field}
	for _, step := range path[1:] {
		switch step := step.(type) {
		case int:
			list := strings.Join(names, ".")
			if known := u.origins[list]; step < len(known) {
				at := known[step]
				u.origins[list] = slices.Delete(known, step, step+1)
				return at
			}
		case string:
			names = append(names, step)
		}
	}
	for n := len(names); n > 0; n-- {
		if at, known := u.places[strings.Join(names[:n], ".")]; known {
			return at
		}
	}
	key := field
	if composed, known := composeKeys[field]; known {
		key = composed
	}
	at := u.at + "." + key
	if len(path) > 1 && (field == "env" || field == "labels" || field == "ulimits") {
		return join(at, fmt.Sprint(path[1]))
	}
	return at
}
