package api

import "time"

// SinkStatus describes a sink.
type SinkStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ObservedRevision   int64 `json:"observedRevision,omitempty"`
	// Type is the type of the target, Receiver the part of its address that may be shown.
	Type       string      `json:"type,omitempty"`
	Receiver   string      `json:"receiver,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	// Progress is the sink's position. It is stored apart, and joined when the status is read.
	Progress *SinkProgress `json:"progress,omitempty"`
}

// SinkProgress is the position of a sink in the log. Key /sinks/<scope>/<name>; the controller of sinks writes it at
// most about once a second.
type SinkProgress struct {
	// UID is the sink's: another one of the name begins where it was created.
	UID string `json:"uid"`
	// Position is the position of the last sent event in the log of events. Events that the filter skips count as
	// sent.
	Position string `json:"position"`
	// Sent counts delivered events or messages (a mail counts once for each address), Failed failed attempts, Dead
	// abandoned deliveries, and Gaps the times that events were deleted before they could be sent.
	Sent   int64 `json:"sent"`
	Failed int64 `json:"failed"`
	Dead   int64 `json:"dead"`
	Gaps   int64 `json:"gaps"`
	// LastSentAt is the time of the last delivery. LastError is the cause of the last failed attempt or abandoned
	// event.
	LastSentAt  time.Time `json:"lastSentAt,omitzero"`
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// BehindSince is the time of the oldest event that waits; zero if none does.
	BehindSince time.Time `json:"behindSince,omitzero"`
	// Trying is the delivery under way, if it failed at least once.
	Trying *SinkAttempts `json:"trying,omitempty"`
	// Gone is the generation to which the receiver answered that it is gone for good; 0 if it didn't.
	Gone int64 `json:"gone,omitempty"`
	// Gap is the last one.
	Gap *SinkGap `json:"gap,omitempty"`
	// Refusals are the addresses of mail that the last message was refused for, since the sink was changed last.
	Refusals []SinkRefusal `json:"refusals,omitempty"`
	// Causes lists the causes that people got a message about, or will get one.
	Causes SinkCauses `json:"causes,omitzero"`
}

// SinkAttempts are the failed attempts to send one thing.
type SinkAttempts struct {
	ID       string    `json:"id"`
	Attempts int       `json:"attempts"`
	Since    time.Time `json:"since"`
	NextAt   time.Time `json:"nextAt,omitzero"`
	// Left are the addresses of a mail that it is still to be sent to; none means all.
	Left []string `json:"left,omitempty"`
}

// SinkRefusal is an address that mails don't arrive at.
type SinkRefusal struct {
	Address string `json:"address"`
	// Lost counts the messages that were given up for it since At; Error says why the last one was.
	Lost  int64     `json:"lost"`
	Error string    `json:"error"`
	At    time.Time `json:"at"`
}

// SinkGap is a part of the log that was deleted before the sink had sent it.
type SinkGap struct {
	After string    `json:"after"`
	Until string    `json:"until"`
	At    time.Time `json:"at"`
}

// SinkCauses are the causes that a sink for people knows.
type SinkCauses struct {
	Open []SinkCause `json:"open,omitempty"`
	// More counts failures without a place in Open that no message has mentioned, and MoreSince is when the first was
	// seen.
	More      int       `json:"more,omitempty"`
	MoreSince time.Time `json:"moreSince,omitzero"`
	// MessageAt is the time of the last message.
	MessageAt time.Time `json:"messageAt,omitzero"`
}

// SinkCause is one cause of messages: an object and the reason of its failure.
type SinkCause struct {
	UID    string `json:"uid"`
	Kind   Kind   `json:"kind"`
	Scope  string `json:"scope"`
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
	// Message and Release are those of the newest failure, ID its event's.
	Message string `json:"message,omitempty"`
	Release string `json:"release,omitempty"`
	ID      string `json:"id,omitempty"`
	// Since is the first failure of this cause that is not resolved, Count how many followed it.
	Since time.Time `json:"since"`
	Count int       `json:"count"`
	// WaitingSince is the time from which an unsent message about the cause is due; zero if there is nothing to send.
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// Recovery is set if the waiting message reports that the cause is resolved, not that it fails.
	Recovery bool `json:"recovery,omitempty"`
	// MessageAt is the time of the message about the failure; zero if none was sent.
	MessageAt time.Time `json:"messageAt,omitzero"`
	// ResolvedAt is the time at which the cause was resolved; zero before. Announced is set once a message reported
	// the resolution.
	ResolvedAt time.Time `json:"resolvedAt,omitzero"`
	Announced  bool      `json:"announced,omitempty"`
}

// Ref names the object of the cause.
func (c SinkCause) Ref() Ref { return Ref{Kind: c.Kind, Scope: c.Scope, Name: c.Name} }

// SinkTest is the result of a test of a sink.
type SinkTest struct {
	Sink     string `json:"sink"`
	Type     string `json:"type"`
	Receiver string `json:"receiver,omitempty"`
	// Delivered: the receiver took it. Answer is the status of its answer, or the error.
	Delivered bool   `json:"delivered"`
	Answer    string `json:"answer"`
	// Took is the time it took, in milliseconds.
	Took int64 `json:"tookMillis"`
}
