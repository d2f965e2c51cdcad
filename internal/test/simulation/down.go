package simulation

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// A person says of a machine that doesn't answer that it is off: of one without power, and of one that runs on behind a
// cut cable. Only in the second case may an ordinal have two live containers, until that machine has answered.

// confirmAfter is when a person says so: what a machine ran counts as lost by then.
const confirmAfter = nodeTimeout + 10*time.Second

// confirmDown lets a person say that a machine is off, if it doesn't answer for so long.
func (w *World) confirmDown(m *machine) {
	w.people.wait.Go(func() {
		sleepFor(confirmAfter)
		if w.unmounted.Load() {
			return
		}
		w.count.verbs.Add(1)
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		_, err := w.client.ConfirmNodeDown(ctx, m.node, false)
		w.storyf("%s is said to be off: %s%s", m.node, answerOf(err), because(err))
	})
}

// said holds people's statements about nodes that don't answer.
type said struct {
	// off are the nodes of which a person said that they are off, until they answer.
	off map[string]bool
	// wrong are those that ran, with when they answered; zero before.
	wrong map[string]time.Time
}

// commit notes what is said of nodes, and which of them answer.
func (s *said) commit(w *World, txn store.Txn) {
	for _, op := range txn.Do {
		node, answers := strings.CutPrefix(op.Key, records.AlivePrefix)
		var status api.TaskStatus
		switch {
		case op.Delete:
		case answers && !records.HeartbeatOf(op.Value).Beats(): // it misses beats
		case answers:
			delete(s.off, node)
			if at, wrong := s.wrong[node]; wrong && at.IsZero() {
				s.wrong[node] = time.Now()
			}
		case txn.Site == "node.down":
			decode(op.Value, &status)
			if s.off[status.Node] = true; !w.machine(status.Node).off.Load() {
				s.wrong[status.Node] = time.Time{}
			}
		}
	}
}

// mayDouble reports whether the containers of a node may run twice: a person said that it is off, and it isn't, and it
// has not had the time to stop them since it answered.
func (a *archive) mayDouble(node string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, wrong := a.said.wrong[node]
	return wrong && (at.IsZero() || time.Since(at) < backTime)
}
