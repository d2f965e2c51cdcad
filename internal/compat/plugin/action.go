package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ActionType is the type of an action that a plugin requests.
type ActionType string

// The types of actions. The client performs the last two, and only a command may request them.
const (
	ConfigSet      ActionType = "config_set"
	ConfigUnset    ActionType = "config_unset"
	ApplyManifest  ActionType = "apply_manifest"
	DeleteManifest ActionType = "delete_manifest"
	RunJob         ActionType = "run_job"
	ExecLocal      ActionType = "exec_local"
	FetchFile      ActionType = "fetch_file"
)

// Action is one request of a plugin. Its type decides which fields count.
type Action struct {
	Type  ActionType `json:"type"`
	Scope string     `json:"scope,omitempty"`
	Name  string     `json:"name,omitempty"`
	// KV are the keys config_set sets, Keys those config_unset removes.
	KV   map[string]string `json:"kv,omitempty"`
	Keys []string          `json:"keys,omitempty"`
	// SkipRestart makes config reach containers only with their next release or restart.
	SkipRestart bool `json:"skip_restart,omitempty"`
	// Manifest is stored by apply_manifest.
	Manifest *Manifest `json:"manifest,omitempty"`
	// Kind is the kind of the object that delete_manifest removes.
	Kind string `json:"kind,omitempty"`
	// Command is run by exec_local.
	Command CommandLine `json:"command,omitempty"`
	// RemotePath is a file on the server that fetch_file copies to DestPath; SizeBytes is its expected size.
	RemotePath string `json:"remote_path,omitempty"`
	DestPath   string `json:"dest_path,omitempty"`
	SizeBytes  int64  `json:"size_bytes,omitempty"`
	// Summary is printed in place of Tend's own description.
	Summary string `json:"summary,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Action) UnmarshalJSON(raw []byte) error {
	type plain Action
	err := json.Unmarshal(raw, (*plain)(a))
	a.Name = PlainName(a.Name)
	return err
}

// CommandLine is a command, written as a list or as one text for a shell.
type CommandLine []string

// UnmarshalJSON implements json.Unmarshaler.
func (c *CommandLine) UnmarshalJSON(raw []byte) error {
	var line string
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		err := json.Unmarshal(raw, &line)
		if *c = nil; line != "" {
			*c = CommandLine{"sh", "-c", line}
		}
		return err
	}
	return json.Unmarshal(raw, (*[]string)(c))
}

// ForClient reports whether the client performs the action.
func (a Action) ForClient() bool { return a.Type == ExecLocal || a.Type == FetchFile }

// fault returns the reason why an action can't be performed, or "".
func (a Action) fault(client bool) string {
	switch {
	case a.ForClient() && !client:
		return "can only be requested by a command: there is no terminal"
	case a.Type == ExecLocal && len(a.Command) == 0, a.Type == FetchFile && a.RemotePath == "":
		return "doesn't say what"
	case a.ForClient():
		return ""
	case a.Type == ApplyManifest && a.Manifest == nil:
		return "has no manifest"
	case a.scope() == "" || a.name() == "":
		return "needs scope and name"
	}
	switch a.Type {
	case ConfigSet:
		if len(a.KV) == 0 {
			return "has no kv"
		}
	case ConfigUnset:
		if len(a.Keys) == 0 {
			return "has no keys"
		}
	case DeleteManifest:
		if a.Kind == "" {
			return "has no kind"
		}
	case ApplyManifest, RunJob:
	default:
		return "is of no type that is known"
	}
	return ""
}

// scope returns the scope of the action. The manifest of apply_manifest has its own: the action's may name the object
// for which it is stored.
func (a Action) scope() string {
	if a.Manifest != nil && a.Manifest.Scope != "" {
		return a.Manifest.Scope
	}
	return a.Scope
}

// name returns the name of the action's object; see scope.
func (a Action) name() string {
	if a.Manifest != nil && a.Manifest.Name != "" {
		return a.Manifest.Name
	}
	return a.Name
}

// Target returns the scope and the name of the object that an action changes; for apply_manifest those of the manifest.
func (a Action) Target() (scope, name string) { return a.scope(), a.name() }

// String describes the action, by the plugin's own summary if it has one. It never contains a value.
func (a Action) String() string {
	if a.Summary != "" {
		return clipped(a.Summary)
	}
	at := a.scope() + "/" + a.name()
	switch a.Type {
	case ConfigSet:
		return fmt.Sprintf("set %s of %s", strings.Join(slices.Sorted(maps.Keys(a.KV)), ", "), at)
	case ConfigUnset:
		return fmt.Sprintf("unset %s of %s", strings.Join(a.Keys, ", "), at)
	case ApplyManifest:
		return fmt.Sprintf("apply %s/%s", a.Manifest.Kind, at)
	case DeleteManifest:
		return fmt.Sprintf("delete %s/%s", a.Kind, at)
	case RunJob:
		return "run " + at
	case ExecLocal:
		return "run " + strings.Join(a.Command, " ")
	case FetchFile:
		return fmt.Sprintf("fetch %s to %s", a.RemotePath, a.DestPath)
	}
	return string(a.Type)
}
