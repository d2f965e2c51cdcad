package verbs

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// Reason says in one word why a verb was refused.
type Reason string

// The reasons for which a verb is refused. Nothing was stored then.
const (
	// Invalid: the request or a manifest in it is wrong, independent of the store.
	Invalid Reason = "Invalid"
	// NotFound: the object, release or pod doesn't exist.
	NotFound Reason = "NotFound"
	// Ambiguous: several objects match the name.
	Ambiguous Reason = "Ambiguous"
	// NameTaken: another object owns <scope>-<name>.
	NameTaken Reason = "NameTaken"
	// PortTaken: two containers would publish the same port of the host.
	PortTaken Reason = "PortTaken"
	// VolumeInUse: a container that isn't Tend's writes to a volume of the object.
	VolumeInUse Reason = "VolumeInUse"
	// RouteTaken: two ingresses would serve the same host and path, or a host belongs to another scope.
	RouteTaken Reason = "RouteTaken"
	// RegistryTaken: two registries would define the login to one host.
	RegistryTaken Reason = "RegistryTaken"
	// InUse: another object needs it.
	InUse Reason = "InUse"
	// FieldOwned: another manager set a field to another value.
	FieldOwned Reason = "FieldOwned"
	// RunForbidden: a run is under way, and the cron job allows one at a time.
	RunForbidden Reason = "RunForbidden"
	// LabNotRunning: the lab has not begun, or it has ended.
	LabNotRunning Reason = "LabNotRunning"
	// Changed: the object is not any more what the person saw.
	Changed Reason = "Changed"
	// Terminating: the object is being deleted.
	Terminating Reason = "Terminating"
	// TooLarge: the change exceeds what can be stored at once.
	TooLarge Reason = "TooLarge"
	// Forbidden: the caller isn't an admin, and only an admin may do it.
	Forbidden Reason = "Forbidden"
	// Busy: concurrent changes kept changing what the verb decided from.
	Busy Reason = "Busy"
)

// Error is a refusal: what, where and the next step.
type Error struct {
	Reason Reason
	Detail string
	Next   string
	// Errors lists every fault if there are several.
	Errors []api.FieldError
	// Wanted is the object that nothing is, for NotFound. Suggestion says which one was probably meant.
	Wanted Target
}

func (e *Error) Error() string {
	text := e.Detail
	for _, fault := range e.Errors {
		text += "; " + fault.Error()
	}
	return text
}

// mostFaults bounds how many faults an error lists.
const mostFaults = 100

// faults collects refusals, so that a user sees all of them at once. The first one gives the reason.
type faults struct {
	reason Reason
	next   string
	count  int
	// kinds counts them by what they are about.
	kinds [kindsOfFault]int
	// applied are the objects of the apply, which may be in each other's way.
	applied map[api.Ref]bool
	// rights are those of who asks; nil for all. Refusals name no object of a scope that is not theirs to see.
	rights *source.Rights
	// errors are the first mostFaults.
	errors []api.FieldError
}

// faultsOf returns an empty collection for an apply of objects, of one with rights.
func faultsOf(objects []api.Object, rights source.Rights) *faults {
	f := &faults{applied: map[api.Ref]bool{}, rights: &rights}
	for _, object := range objects {
		f.applied[object.Ref()] = true
	}
	return f
}

func (f *faults) add(reason Reason, ref api.Ref, field, next, format string, args ...any) {
	if f.reason == "" {
		f.reason, f.next = reason, next
	}
	f.kinds[kindOf(reason)]++
	if f.count++; f.count > mostFaults {
		return
	}
	fault := api.FieldError{Object: f.named(ref), Field: field, Detail: fmt.Sprintf(format, args...)}
	if !f.sees(ref) { // it uses what is applied
		fault.Field, fault.Detail = "", "it can't be written as it is declared: ask an admin"
	}
	f.errors = append(f.errors, fault)
}

// clash adds a refusal because of what owner has.
func (f *faults) clash(reason Reason, owner, ref api.Ref, field, next, format string, args ...any) {
	before := f.kinds
	f.add(reason, ref, field, next, format, args...)
	if f.applied[owner] {
		f.kinds = before
		f.kinds[amongApplied]++
	}
}

func (f *faults) sees(ref api.Ref) bool {
	return f.rights == nil || f.applied[ref] || f.rights.Sees(ref.Scope)
}

// named returns what a refusal calls an object that is in the way.
func (f *faults) named(ref api.Ref) string {
	article, where := "a ", " of another scope"
	if strings.ContainsRune("aeiou", rune(ref.Kind[0])) {
		article = "an "
	}
	switch {
	case f.sees(ref):
		return ref.String()
	case ref.Scope == api.Unscoped:
		where = " without a scope"
	}
	return article + string(ref.Kind) + where
}

func (f *faults) err(detail string) error {
	if len(f.errors) == 0 {
		return nil
	}
	return &Error{Reason: f.reason, Detail: detail, Next: f.next, Errors: f.errors}
}

// kindOfFault is the subject of a refusal.
type kindOfFault int

const (
	inItself     kindOfFault = iota // it can't work, whatever else is stored
	withStored                      // another object is in its way
	amongApplied                    // … one of the same apply
	onMachine                       // another container is
	beingDeleted                    // it waits for its own deletion
	kindsOfFault
)

func kindOf(reason Reason) kindOfFault {
	switch reason {
	case Invalid, TooLarge, Forbidden:
		return inItself
	case VolumeInUse:
		return onMachine
	case Terminating:
		return beingDeleted
	}
	return withStored
}

// headline returns the sentence above the refusals. what is refused is the manifest of an apply, or what else a verb
// makes of an object.
func (f *faults) headline(what string) string {
	var parts []string
	for kind, count := range f.kinds {
		text := plural(count, "conflict")
		switch kindOfFault(kind) {
		case inItself:
			text = what + " can't work like this: " + plural(count, "fault")
		case withStored:
			text += " with what is stored"
		case amongApplied:
			text += " among the objects of the apply"
		case onMachine:
			text += " with what runs on this machine"
		case beingDeleted:
			text = plural(count, "object") + " still being deleted"
		}
		if count > 0 {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ") + "; nothing was stored" + listed(f.count)
}

// listed returns how many of the faults are listed, if not all are.
func listed(count int) string {
	if count <= mostFaults {
		return ""
	}
	return fmt.Sprintf("; the first %d are", mostFaults)
}

func notFound(next, format string, args ...any) error {
	return &Error{Reason: NotFound, Detail: fmt.Sprintf(format, args...), Next: next}
}

func invalid(next, format string, args ...any) error {
	return &Error{Reason: Invalid, Detail: fmt.Sprintf(format, args...), Next: next}
}

func terminating(ref api.Ref) error {
	return &Error{Reason: Terminating, Detail: ref.String() + " is being deleted", Next: nextTerminating}
}

const nextTerminating = "wait until it is gone, then try again"
