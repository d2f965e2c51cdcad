package api

// ConfigResult names the keys of a bucket: a scope's, or with Name one app's.
type ConfigResult struct {
	Scope string   `json:"scope"`
	Name  string   `json:"name,omitempty"`
	Keys  []string `json:"keys"`
	// Apps are the names of the apps of the scope that have keys of their own. Only the list of a scope's bucket has them.
	Apps []string `json:"apps,omitempty"`
	// Value is the value of the key that was requested by name. No other answer contains a value.
	Value *string `json:"value,omitempty"`
	// Created, Changed, Unchanged and Removed sort the keys that were to be set or removed.
	Created   []string `json:"created,omitempty"`
	Changed   []string `json:"changed,omitempty"`
	Unchanged []string `json:"unchanged,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	// Warnings are for a person to read; nothing was refused for them.
	Warnings []string `json:"warnings,omitempty"`
	// Notes lists hints for a person. Many of the noted effects are intended.
	Notes []string `json:"notes,omitempty"`
	// Affected are the deployments and statefulsets whose environment differs by it, of the scopes that the caller sees.
	Affected []Ref `json:"affected,omitempty"`
	// Revision to wait for in the status.observedRevision of what is affected; 0 where nothing was written.
	Revision int64 `json:"revision,omitempty"`
}

// ConfigRequest sets and removes keys of a bucket in one commit.
type ConfigRequest struct {
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
}
