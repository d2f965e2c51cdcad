package owner

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// earlyTime is for how long an early answer counts: a step that comes later, as one after a crash, asks again.
const earlyTime = 10 * time.Second

// Early holds what a node said of an object's image as the object was stored: the answer to the request that its first
// step writes. It counts for that step alone: a later one would not know whether the node still has the image.
type Early struct {
	found  records.Read[records.Found]
	counts bool
	// before is the revision of the node's own answer, member that of the record of its machine.
	before, member int64
}

// ImageAnswers reads the nodes' answers about an object's image, and the early one, which is among them while it
// counts.
func ImageAnswers(
	s records.Snapshot, object records.Read[api.Object], now time.Time,
) ([]records.Read[api.ImageStatus], Early) {
	ref := object.Value.Ref()
	answers, early := s.ImageStatuses(ref), Early{found: s.Found(ref)}
	if !early.found.Exists() {
		return answers, early
	}
	said := &early.found.Value.Answer
	member := s.Member(said.Node)
	status, _ := s.Get(records.StatusKey(ref))
	early.counts = early.found.Modified == object.Modified &&
		(object.Modified == 0 || status.Modified < object.Modified) && // 0: a dry run
		(!member.Exists() || !member.Value.Removed)
	early.before, early.member = s.ImageStatus(said.Node, ref).Modified, member.Modified
	if early.counts {
		s.Fleeting() // until its time has passed
		early.counts = now.Sub(said.UpdatedAt).Abs() <= earlyTime
	}
	if early.counts {
		answers = append(answers, records.Read[api.ImageStatus]{Value: said, Modified: early.found.Modified})
	}
	return answers, early
}

// Settle stores the early answer as that of its node beside the request that it answers, and forgets it. due says
// whether the request is written.
func (e Early) Settle(txn *records.Txn, request api.ImageRequest, due bool) {
	if !e.found.Exists() {
		return
	}
	said := e.found.Value.Answer
	txn.Delete(records.FoundKey(said.Owner))
	if !due || !e.counts || !said.Answers(request) {
		return
	}
	key := records.ImageStatusKey(said.Node, said.Owner)
	txn.If(records.MemberKey(said.Node), e.member).If(key, e.before).Put(key, said)
}
