// Package change decides which events a write makes: Object compares an object before and after it, Status its status.
// History reads events back as changes, and what became of each.
//
// Events show which fields changed, and values only of fields that can't be secret. They are small whatever changed:
// lists and texts are cut. The package never numbers events and never stores them (package eventlog does).
package change
