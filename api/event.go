package api

import (
	"encoding/json"
	"strings"
	"time"
)

// The media types of events.
const (
	// EventMediaType is the media type of one event in the structured form of CloudEvents.
	EventMediaType = "application/cloudevents+json"
	// EventSpecVersion is the version of CloudEvents that events follow.
	EventSpecVersion = "1.0"
)

// EventAction names what happened: the part of an event's type after its kind.
type EventAction string

// The actions of events. The outcomes (reconciled, reconciliation.failed, finalized) come with the write that records
// them.
const (
	EventCreated       EventAction = "created"
	EventUpdated       EventAction = "updated"
	EventDeleted       EventAction = "deleted"
	EventStatusUpdated EventAction = "status_updated"
	// EventReconciled: the object is as its newest generation asks, for the first time since something changed.
	EventReconciled EventAction = "reconciled"
	// EventFailed: a reconcile, a rollout or a run failed, or fails for another reason.
	EventFailed EventAction = "reconciliation.failed"
	// EventFinalized: everything made for a deleted object is gone.
	EventFinalized EventAction = "finalized"
	// What happens to nodes: EventSilent is one that no server hears, EventLost one that has not answered for the
	// node timeout, EventReturned one that answers again, EventFlapping one that gets no pods for a while after it was
	// lost again and again.
	EventJoined   EventAction = "joined"
	EventSilent   EventAction = "silent"
	EventLost     EventAction = "lost"
	EventReturned EventAction = "returned"
	EventFlapping EventAction = "flapping"
	EventRemoved  EventAction = "removed"
)

// EventActions lists every action.
var EventActions = []EventAction{
	EventCreated, EventUpdated, EventDeleted, EventStatusUpdated, EventReconciled, EventFailed, EventFinalized,
	EventJoined, EventSilent, EventLost, EventReturned, EventFlapping, EventRemoved,
}

// AuditType is the type of the events of the audit: one for each call that may change something.
const AuditType = "audit"

// The types of what a stream of events has besides them. Their ids are positions to go on from.
const (
	// EventBookmark marks the position of the reader.
	EventBookmark = "tend.bookmark"
	// EventError is the last of a stream; its data is the Problem that ended it.
	EventError = "tend.error"
)

// EventType returns the type of the events of a kind. Those of labs have the name that lab managers know them by.
func EventType(kind Kind, action EventAction) string {
	if kind == KindLab {
		return labEvents + string(action)
	}
	return string(kind) + "." + string(action)
}

const labEvents = "labinstancerequest."

// EventTypeByKind returns a type with the name of the kind in it: filters take events of labs by either.
func EventTypeByKind(eventType string) string {
	if action, ok := strings.CutPrefix(eventType, labEvents); ok {
		return string(KindLab) + "." + action
	}
	return eventType
}

// Event is one change, as a CloudEvent 1.0 in the structured form.
type Event struct {
	SpecVersion string `json:"specversion"`
	// ID is the store revision of the change and the event's place in it, "<revision>.<index>". It never returns, also
	// not after a restore, and orders the events of a source.
	ID string `json:"id"`
	// Source is /tend/clusters/<uid of the cluster>.
	Source string `json:"source"`
	Type   string `json:"type"`
	// Subject is <scope>/<name> of the object; of an audited call, its path.
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype,omitempty"`
	// Data is an EventData, or an AuditData in the audit.
	Data json.RawMessage `json:"data,omitempty"`
}

// EventData is the data of an event about an object. It has no value of a secret.
type EventData struct {
	UID   string `json:"uid,omitempty"`
	Kind  Kind   `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
	// Generation is the object's after the change; ObservedGeneration the one its status speaks of.
	Generation         int64 `json:"generation,omitempty"`
	OldGeneration      int64 `json:"oldGeneration,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Verb is the request (apply, scale, …), or the controller's step that wrote a status.
	Verb string `json:"verb,omitempty"`
	// Actor made the request, and Manager is the field manager of the change; empty for controllers.
	Actor   string `json:"actor,omitempty"`
	Manager string `json:"manager,omitempty"`
	// Changes are the fields that changed, ordered by path, at most MaxEventChanges; MoreChanges counts the others.
	Changes     []EventChange `json:"changes,omitempty"`
	MoreChanges int           `json:"moreChanges,omitempty"`
	// Conditions lists the conditions with a changed status or reason.
	Conditions []EventCondition `json:"conditions,omitempty"`
	// Phase is the phase of a rollout, a run or a lab. OldPhase is the previous phase, if it changed.
	Phase    string `json:"phase,omitempty"`
	OldPhase string `json:"oldPhase,omitempty"`
	// Healing is set if the rollout replaces pods that ended or stopped answering, and the object didn't change.
	Healing bool `json:"healing,omitempty"`
	// Release is the object's current or target release. OldRelease is the previous one, if it changed.
	Release    string `json:"release,omitempty"`
	OldRelease string `json:"oldRelease,omitempty"`
	// HelmRevision is the revision of Helm that Release became; 0 if that isn't known.
	HelmRevision int64 `json:"helmRevision,omitempty"`
	// Reason and Message say why something failed, or how a lab ended.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Lab holds what consumers of a lab need to know, which saves them a call.
	Lab *EventLab `json:"lab,omitempty"`
}

// EventLab is whose a lab is, and how it is after the change.
type EventLab struct {
	Owner string `json:"owner,omitempty"`
	Class string `json:"class,omitempty"`
	// EndsAt is the end of the lab's time; absent before it runs.
	EndsAt time.Time `json:"endsAt,omitzero"`
	// AccessURL is the lab's URL while it runs.
	AccessURL string `json:"accessUrl,omitempty"`
	// ExitCode is its container's, once it has ended.
	ExitCode *int `json:"exitCode,omitempty"`
}

// Ref names the object of the event.
func (d EventData) Ref() Ref { return Ref{Kind: d.Kind, Scope: d.Scope, Name: d.Name} }

// EventChange is one field that changed. Old and New are short values of fields that can't be secret; most have none.
type EventChange struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// EventCondition is a condition that changed.
type EventCondition struct {
	Type      string          `json:"type"`
	Status    ConditionStatus `json:"status"`
	OldStatus ConditionStatus `json:"oldStatus,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Message   string          `json:"message,omitempty"`
}

// MaxEventChanges bounds the fields that one event lists.
const MaxEventChanges = 16

// EventPage is a bounded part of the log.
type EventPage struct {
	Events []Event `json:"events"`
	// Next is the position after the last event that was read, also of those the filter left out: `since` of the next
	// page.
	Next string `json:"next"`
	// More reports whether events follow.
	More bool `json:"more,omitempty"`
}
