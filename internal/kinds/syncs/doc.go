// Package syncs is the kind of syncs: their sources are polled, and the contents kept applied.
//
// A step asks for two calls. The first polls the source for as long as the object is as it is, at the sync's interval,
// and less often while polls fail; each poll is an answer. The step observes the last poll, the last apply, and whether
// the objects still are as that apply left them, and internal/core/source decides. An apply, the second call, may fetch
// and take time. It uses the verbs, as the field manager sync:NAME, so it follows the rules for users' applies, and a
// field that a user owns is refused.
//
// Calls live while this server has the controllers. Polls are not stored: another server polls and applies
// again, which writes nothing if everything is in place. The package fetches nothing itself, and never deletes an
// object that the sync didn't create.
package syncs
