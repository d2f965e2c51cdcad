package simulation

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// A person confirms that a silent machine is off: for a machine without power, and wrongly for one that runs behind a
// cut cable. Only in the second case may an ordinal have two live containers, until that machine has answered.

// confirmAfter is the silence after which a person confirms: by then the machine's pods count as lost.
const confirmAfter = nodeTimeout + 10*time.Second

// confirmDown lets a person confirm that a machine is off, if it stays silent for confirmAfter.
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

// said records people's statements about silent nodes.
type said struct {
	// off holds the nodes that a person confirmed as off, until they answer.
	off map[string]bool
	// wrong holds those of them that ran, with the time of their answer; zero before.
	wrong map[string]time.Time
}

// commit records confirmations about nodes, and the nodes that answer.
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
		case !strings.HasPrefix(op.Key, records.ActualTasksPrefix):
		case txn.Site == "node.down" || txn.Site == "node.remove":
			decode(op.Value, &status)
			m := w.machine(status.Node)
			if m == nil {
				w.fail("%s stores %s at %s, which is the end of no machine's task", txn.Site, op.Value, op.Key)
				continue
			}
			if s.off[status.Node] = true; !m.off.Load() {
				s.wrong[status.Node] = time.Time{}
			}
		}
	}
}

// mayDouble reports whether the containers of a node may run twice: a person wrongly confirmed that it is off, and it
// has not had the time to stop them since it answered.
func (a *archive) mayDouble(node string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, wrong := a.said.wrong[node]
	return wrong && (at.IsZero() || time.Since(at) < backTime)
}
