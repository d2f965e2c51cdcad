package owner

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// Early is what a node said of an object's image as the object was stored: the answer to the request that its first
// step writes. It counts for that step alone: a later one would not know whether the node still has the image.
type Early struct {
	answer records.Read[api.ImageStatus]
	counts bool
	// before is the revision of the node's own answer, member that of the record of its machine.
	before, member int64
}

// Answers reads the nodes' answers about an object's image, and the early one, which is among them while it counts.
func Answers(s records.Snapshot, object records.Read[api.Object]) ([]records.Read[api.ImageStatus], Early) {
	ref := object.Value.Ref()
	answers, early := s.ImageStatuses(ref), Early{answer: s.FoundImage(ref)}
	if !early.answer.Exists() {
		return answers, early
	}
	member := s.Member(early.answer.Value.Node)
	status, _ := s.Get(records.StatusKey(ref))
	early.counts = early.answer.Modified == object.Modified && status.Modified < object.Modified &&
		(!member.Exists() || !member.Value.Removed)
	early.before, early.member = s.ImageStatus(early.answer.Value.Node, ref).Modified, member.Modified
	if early.counts {
		answers = append(answers, early.answer)
	}
	return answers, early
}

// Settle stores the early answer as that of its node beside the request that it answers, and forgets it. due says
// whether the request is written.
func (e Early) Settle(txn *records.Txn, request api.ImageRequest, due bool) {
	if !e.answer.Exists() {
		return
	}
	said := *e.answer.Value
	txn.Delete(records.FoundKey(said.Owner))
	if !due || !e.counts || !said.Answers(request) {
		return
	}
	key := records.ImageStatusKey(said.Node, said.Owner)
	txn.If(records.MemberKey(said.Node), e.member).If(key, e.before).Put(key, said)
}
