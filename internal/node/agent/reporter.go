package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

const (
	maxBatch       = 100
	firstReportGap = 100 * time.Millisecond
	lastReportGap  = 5 * time.Second
	// beginTime passes before the beginning of a pull is reported: one that ends sooner is one report. A build is reported
	// at once: users read its output while it is under way.
	beginTime = 250 * time.Millisecond
	// flushTime is the time for the last report when the agent stops.
	flushTime = 2 * time.Second
)

// reporter sends changes to the control plane: at once if no report is under way, else with the next batch, which holds
// only the newest status of each thing. It remembers the last status of each, so that nothing unchanged is sent.
type reporter struct {
	reconciler.Member
	control nodeapi.Reports
	log     *slog.Logger
	wake    chan struct{}
	// served is called when it changes whether a pod may serve.
	served func()

	mu      sync.Mutex
	tasks   map[string]api.TaskStatus
	images  map[api.Ref]api.ImageStatus
	begun   map[api.Ref]bool // of those, what is not reported before its beginTime
	node    api.NodeStatus
	pending map[string]func(*node.Report)
	order   []string
}

func newReporter(control nodeapi.Reports, log *slog.Logger) *reporter {
	r := &reporter{
		control: control, log: log, wake: make(chan struct{}, 1), tasks: map[string]api.TaskStatus{},
		images: map[api.Ref]api.ImageStatus{}, begun: map[api.Ref]bool{}, pending: map[string]func(*node.Report){},
	}
	r.Member = reconciler.NewMember(r.send)
	return r
}

// task returns the newest status of a task: the one that was reported here, else the stored one.
func (r *reporter) task(assigned node.Assignment) api.TaskStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status, ok := r.tasks[assigned.Task.ID]; ok {
		return status
	}
	return assigned.Status
}

// ended reports whether this agent saw a task's end, reported or not.
func (r *reporter) ended(task string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tasks[task].State.Terminal()
}

// reportTask records the next status of a task.
func (r *reporter) reportTask(assigned node.Assignment, status api.TaskStatus) {
	last := r.task(assigned)
	if same(last, status) {
		return
	}
	if r.served != nil && (last.Ready != status.Ready || last.State != status.State || last.Address != status.Address) {
		defer r.served() // once it can be read
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[status.ID] = status
	r.putLocked("task/"+status.ID, func(out *node.Report) { out.Tasks = append(out.Tasks, status) })
}

// forgetTask deletes the observed half.
func (r *reporter) forgetTask(assigned node.Assignment) {
	if r.task(assigned).State == "" {
		return
	}
	id := assigned.Task.ID
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[id] = api.TaskStatus{}
	r.putLocked("task/"+id, func(out *node.Report) { out.Forget = append(out.Forget, id) })
}

// dropTask forgets a task whose desired half is gone.
func (r *reporter) dropTask(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tasks, id)
	delete(r.pending, "task/"+id)
}

func (r *reporter) image(assigned node.ImageAssignment, owner api.Ref) api.ImageStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status, ok := r.images[owner]; ok {
		return status
	}
	return assigned.Status
}

// reportImage records the next status of an image; UpdatedAt changes only with the rest.
func (r *reporter) reportImage(last, status api.ImageStatus, now time.Time) {
	status.UpdatedAt = last.UpdatedAt
	if same(last, status) {
		return
	}
	status.UpdatedAt = now
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[status.Owner] = status
	if status.State == api.ImagePulling {
		if last.State != api.ImagePulling {
			r.begun[status.Owner] = true
			recovery.AfterFunc(beginTime, func() { r.reportBegun(status.Owner) })
		}
		if r.begun[status.Owner] {
			return
		}
	}
	r.putImageLocked(status)
}

// reportBegun reports a pull that has been under way for its beginTime.
func (r *reporter) reportBegun(owner api.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status, known := r.images[owner]; known && r.begun[owner] {
		r.putImageLocked(status)
	}
}

func (r *reporter) putImageLocked(status api.ImageStatus) {
	delete(r.begun, status.Owner)
	r.putLocked("image/"+status.Owner.String(), func(out *node.Report) { out.Images = append(out.Images, status) })
}

func (r *reporter) forgetImage(owner api.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.images, owner)
	delete(r.begun, owner)
	r.putLocked("image/"+owner.String(), func(out *node.Report) { out.ForgetImages = append(out.ForgetImages, owner) })
}

func (r *reporter) reportNode(status api.NodeStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if same(r.node, status) {
		return
	}
	r.node = status
	r.putLocked("node", func(out *node.Report) { out.Node = &status })
}

func (r *reporter) putLocked(key string, part func(*node.Report)) {
	if _, waiting := r.pending[key]; !waiting {
		r.order = append(r.order, key)
	}
	r.pending[key] = part
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// batch holds up to maxBatch parts.
type batch map[string]func(*node.Report)

func (r *reporter) take() (batch, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := batch{}
	for len(r.order) > 0 && len(out) < maxBatch {
		key := r.order[0]
		r.order = r.order[1:]
		if part, ok := r.pending[key]; ok {
			out[key] = part
			delete(r.pending, key)
		}
	}
	return out, len(out) > 0
}

// giveBack returns parts that could not be sent, unless there is a newer status.
func (r *reporter) giveBack(b batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, part := range b {
		if _, newer := r.pending[key]; !newer {
			r.putLocked(key, part)
		}
	}
}

// send runs until ctx ends, then sends what is left within flushTime. A report that isn't accepted then does not make
// the stop fail: the next start inspects every container.
func (r *reporter) send(ctx context.Context) error {
	gap := firstReportGap
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-r.wake:
		}
		if r.flush(ctx) == nil {
			gap = firstReportGap
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(gap):
		}
		gap = min(2*gap, lastReportGap)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := r.flush(last); err != nil {
		r.log.Warn("the last report was not taken; the next start observes everything again", "error", err)
	}
	return nil
}

func (r *reporter) flush(ctx context.Context) error {
	for {
		b, some := r.take()
		if !some {
			return nil
		}
		var report node.Report
		for _, part := range b {
			part(&report)
		}
		err := r.control.Report(ctx, report)
		var refused *node.RefusedError
		switch {
		case errors.As(err, &refused):
			r.log.Error("the control plane refused a report", "error", err)
			r.unsay(report)
		case err != nil:
			r.giveBack(b)
			if ctx.Err() == nil {
				r.log.Warn("a report was not taken; it is sent again", "parts", len(b), "error", err)
			}
			return err
		}
	}
}

// unsay makes the stored status count again for the tasks and images of a refused report, unless there is a newer
// status.
func (r *reporter) unsay(report node.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, status := range report.Tasks {
		if _, newer := r.pending["task/"+status.ID]; !newer {
			delete(r.tasks, status.ID)
		}
	}
	for _, status := range report.Images {
		if _, newer := r.pending["image/"+status.Owner.String()]; !newer && !r.begun[status.Owner] {
			delete(r.images, status.Owner)
		}
	}
}

// same compares what would be stored: times by value, whatever their form in memory.
func same(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
