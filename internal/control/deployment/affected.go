package deployment

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Affected names the deployments a change may concern. The controller's own status is no reason to look again.
func Affected(s layout.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		return only(record.Ref())
	case *api.Task:
		return only(record.Owner())
	case *api.TaskStatus:
		if task := s.Task(record.ID); task.Exists() {
			return only(task.Value.Owner())
		}
	case *api.ImageStatus:
		return only(record.Owner)
	case *api.Frozen:
		if ref, _, ok := layout.ParseRef(strings.TrimPrefix(change.Key, layout.FrozenPrefix)); ok {
			return only(ref)
		}
	case *api.NodeStatus:
		return all(s, "")
	case []byte:
		if strings.HasPrefix(change.Key, layout.AlivePrefix) {
			return all(s, "") // what could not be placed may fit now, or says something else
		}
		return bucket(s, change.Key)
	}
	return nil
}

func only(ref api.Ref) []engine.Key {
	if ref.Kind != api.KindDeployment {
		return nil
	}
	return []engine.Key{Key(ref)}
}

// bucket names the deployments a config value reaches: those of the scope, or the one app.
func bucket(s layout.Snapshot, key string) []engine.Key {
	if rest, ok := strings.CutPrefix(key, layout.ConfigPrefix+"apps/"); ok {
		if parts := strings.SplitN(rest, "/", 3); len(parts) == 3 {
			return only(api.Ref{Kind: api.KindDeployment, Scope: parts[0], Name: parts[1]})
		}
	}
	if rest, ok := strings.CutPrefix(key, layout.ConfigPrefix+"scopes/"); ok {
		scope, _, _ := strings.Cut(rest, "/")
		return all(s, scope)
	}
	return nil
}

func all(s layout.Snapshot, scope string) []engine.Key {
	var out []engine.Key
	for object := range s.Objects(api.KindDeployment) {
		if scope == "" || object.Value.Scope == scope {
			out = append(out, Key(object.Value.Ref()))
		}
	}
	return out
}
