// Package pulled decides when an image that Tend pulled from a registry is removed from a node again.
//
// An image goes once no object, no request, no kept release and no container refers to it, a day after that was first
// seen, and sooner while the disk is short. Only what Tend itself brought to the node goes: an image that was there
// before, or that a person gave a name to, stays.
//
//	verdict := pulled.Decide(image, short, now)
package pulled
