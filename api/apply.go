package api

import (
	"strconv"
	"time"
)

// Limits of one apply. What exceeds them is refused before anything is stored.
const (
	// MaxApplyBytes bounds the body of an apply.
	MaxApplyBytes = 16 << 20
	// MaxApplyObjects bounds the objects of one apply: they are committed together, and a commit has a size.
	MaxApplyObjects = 2000
)

// StampPull is a key of Metadata.Stamps: a nonce that changes with every forced apply, and with an apply or a scale
// that finds its object unchanged and in trouble. The image is looked for (and pulled) again although its reference
// did not change, and pods that failed before don't count any more.
const StampPull = "pull"

// NewNonce returns the nonce of what a person asked for at a time.
func NewNonce(now time.Time) string { return strconv.FormatInt(now.UnixMilli(), 36) }

// NonceTime returns when a nonce was made; zero if the text is not a nonce.
func NonceTime(nonce string) time.Time {
	at, err := strconv.ParseInt(nonce, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(at).UTC()
}

// ApplyRequest asks that objects be stored as they are. On the wire the objects are the body (JSON or YAML, a list or
// a single one) and the rest are query parameters.
type ApplyRequest struct {
	Objects []Object
	// DryRun answers what would happen and stores nothing. Query dry_run.
	DryRun bool
	// Prune deletes what Set applied before and this apply no longer holds. Query prune; needs Set.
	Prune bool
	// Force makes every object look for its image again. Query force.
	Force bool
	// ForceConflicts takes over fields that another manager set to another value. Query force_conflicts.
	ForceConflicts bool
	// Set names the sources of an apply (a hash of their identity); objects are stamped with it. Query set.
	Set string
}

// ApplyAction names the change that an apply made, or would make, to an object.
type ApplyAction string

// What an apply does to an object.
const (
	ActionCreated    ApplyAction = "created"
	ActionConfigured ApplyAction = "configured"
	ActionUnchanged  ApplyAction = "unchanged"
)

// ObjectResult is the outcome for one object of an apply.
type ObjectResult struct {
	Ref
	Action ApplyAction `json:"action"`
	// Generation is the object's current generation; wait for status.observedGeneration to reach it.
	Generation int64 `json:"generation"`
	// Revision is the store's revision of the object's last write; 0 in the dry run of a created one.
	Revision int64 `json:"revision"`
	// Changes are the spec's fields that differ from what was stored, ordered by path.
	Changes []FieldChange `json:"changes,omitempty"`
	// Retried is set on an unchanged object that was in trouble: what failed is tried again at once, so its revision is
	// that of this apply.
	Retried bool `json:"retried,omitempty"`
	// Conflicts are the fields another manager had set to another value: taken over by force, or in a dry run what the
	// apply would be refused for without it.
	Conflicts []FieldConflict `json:"conflicts,omitempty"`
	// Kept are the fields that other managers set and the apply does not name: they stay as they are.
	Kept []FieldOwner `json:"kept,omitempty"`
	// Build is the id of the build the object is made of; empty where its image is declared.
	Build string `json:"build,omitempty"`
	// Warnings are for a person to read; nothing was refused for them.
	Warnings []string `json:"warnings,omitempty"`
	// FormerSet is the set that applied the object last, if this apply moves it to its own: from then on the prune of this
	// set may remove it. Empty also if the apply moves all objects of that set and holds no others, as that of renamed
	// files does.
	FormerSet string `json:"formerSet,omitempty"`
	// Unmet is the condition that says why an object that the apply would leave as it is isn't as declared now; nil if
	// it is. Dry runs alone have it.
	Unmet *Condition `json:"unmet,omitempty"`
}

// MaxLeft bounds ApplyResult.Left.
const MaxLeft = 20

// ApplyResult is the answer of an apply. Objects are in the order they were given; behind them come stored ones that
// use an asset whose bytes changed.
type ApplyResult struct {
	Objects []ObjectResult `json:"objects"`
	// Pruned are the objects whose deletion was asked for because the set no longer holds them.
	Pruned []Ref `json:"pruned,omitempty"`
	// Left are the objects that the same set applied before and no longer holds, where no prune was asked for: they
	// stay. At most MaxLeft; MoreLeft counts the others.
	Left     []Ref `json:"left,omitempty"`
	MoreLeft int   `json:"moreLeft,omitempty"`
	// Withdrawn are objects of others whose fields the sync that applies had set, and took back: its source no longer
	// has the objects.
	Withdrawn []Ref `json:"withdrawn,omitempty"`
	// Plan lists what the controllers will do about it. It is complete in a dry run, empty otherwise.
	Plan []PlannedAction `json:"plan,omitempty"`
	// Macros lists the objects of each macro in the apply.
	Macros []MacroResult `json:"macros,omitempty"`
	DryRun bool          `json:"dryRun,omitempty"`
	// Revision is the commit's; 0 where nothing was written.
	Revision int64 `json:"revision,omitempty"`
	// Synced lists what the apply of a sync changed, as its commit has it; nil if it changed nothing, and for other
	// applies.
	Synced *Synced `json:"-"`
}

// Changed reports whether the apply wrote, or would write, anything.
func (r ApplyResult) Changed() bool {
	for _, object := range r.Objects {
		if object.Action != ActionUnchanged {
			return true
		}
	}
	for _, macro := range r.Macros {
		if len(macro.Actions) > 0 {
			return true
		}
	}
	return len(r.Pruned) > 0
}
