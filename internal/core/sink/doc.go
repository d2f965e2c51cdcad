// Package sink decides what a sink is sent, and what an answer means.
//
// Wants reports whether a filter selects an event. Build makes the parcel of an event or a message for a target: an
// HTTP request (a CloudEvent in the structured form, signed by Standard Webhooks; a post to Slack or ntfy), a mail, or
// a text for shoutrrr. Judge and Wait say what becomes of it after an answer.
//
// The package makes no calls, and shows no secret: what it returns to be shown names at most a host.
package sink
