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
	// Present is set if the node has the image. Tags lists its names on the node, Digests its digests in registries.
	Present       bool
	Tags, Digests []string
	// Bytes is its size, with the layers that it shares with others.
	Bytes int64
	// Named is set while Reference still names the image.
	Named bool
	// Referred is set if an object, a request or a kept release refers to it; InUse if any container was made from it,
	// also one that isn't Tend's.
	Referred, InUse bool
	// Since is the time from which the image has been unused; zero if it was found unused just now.
	Since time.Time
}

// Verdict is the decision about an image.
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
