package pulled

import "time"

const (
	// Wait is the time for which an image stays that nothing refers to.
	Wait = 24 * time.Hour
	// ShortWait is the same while the disk is short. A rollback within it needs no other pull.
	ShortWait = 10 * time.Minute
)

// Image is an image that Tend pulled, as it is now.
type Image struct {
	// Reference is the reference that was pulled, ID the image that it named.
	Reference, ID string
	// Present is whether the node has the image, Tags the names that it has there.
	// Digests are those it has in registries.
	Present       bool
	Tags, Digests []string
	// Bytes is its size, with the layers that it shares with others.
	Bytes int64
	// Named is whether Reference still names it.
	Named bool
	// Referred is whether an object, a request or a kept release refers to it, InUse whether a container of anybody is
	// made from it.
	Referred, InUse bool
	// Since is when that ended; the zero time if it is seen now.
	Since time.Time
}

// Verdict says what becomes of an image.
type Verdict string

// The verdicts.
const (
	Keep   Verdict = "keep"   // it is needed
	Begin  Verdict = "begin"  // nothing needs it: the wait begins
	Await  Verdict = "await"  // the wait is not over
	Untag  Verdict = "untag"  // remove its name, and with the last name the image
	Remove Verdict = "remove" // remove the image, which has no name any more
	Forget Verdict = "forget" // it is gone, or another's
)

// Decide returns what becomes of an image.
func Decide(i Image, short bool, now time.Time) Verdict {
	wait := Wait
	if short {
		wait = ShortWait
	}
	switch {
	case !i.Present:
		return Forget
	case !i.Named && len(i.Tags) > 0:
		return Forget // what is left of its names is another's
	case i.Referred, i.InUse:
		return Keep
	case i.Since.IsZero():
		return Begin
	case now.Sub(i.Since) < wait:
		return Await
	case i.Named:
		return Untag
	}
	return Remove
}
