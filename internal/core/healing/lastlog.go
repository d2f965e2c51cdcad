package healing

import (
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/core/probe"
)

// logWait is the time for which the report of a failure waits for the last lines of its container. Readers store a
// failure once (a run, a rollback, a webhook's call), so lines that come a moment later would be missing there for
// good. But an engine that is too busy to return them must not delay the report of a failure for longer.
const logWait = 10 * time.Second

// LogRequest names the last lines that a status needs: of which container, and at which end. Two equal ones are the
// same.
type LogRequest struct {
	Container string
	End       LogEnd
}

// LogEnd is the kind of end that lines are needed for.
type LogEnd string

// The ends.
const (
	EndOfTask LogEnd = "task" // the task has failed
	EndOfLoop LogEnd = "loop" // its container keeps exiting
)

// LogReading is the reading of lines that a decision asked for: when it began and, once it is over, the lines. Silent
// says that the output was read to its end and is empty; Lines is empty also where the output couldn't be read.
type LogReading struct {
	Request LogRequest
	Since   time.Time
	Done    bool
	Lines   []string
	Silent  bool
}

// read returns the lines that were read for a request. pending reports that lines may still come, and that it is too
// early to go on without them.
func (p *planner) read(request LogRequest) (lines []string, pending bool) {
	if p.Log == nil || p.Log.Request != request {
		p.recheckAfter(logWait)
		return nil, true
	}
	if p.Log.Done {
		return p.Log.Lines, false
	}
	left := deadline.Left(p.Log.Since.Add(logWait), p.now, logWait)
	if left == 0 {
		return nil, false
	}
	p.recheckAfter(left)
	return nil, true
}

// silent reports that the container's output was read and is empty. While it is read again, as after a start of the
// agent, what was said of its loop stays.
func (p *planner) silent() bool {
	if p.Container == nil {
		return false
	}
	if p.Log != nil && p.Log.Done && p.Log.Request.Container == p.Container.ID {
		return p.Log.Silent
	}
	return p.Status.CrashLoop && p.Status.Container == p.Container.ID && strings.Contains(p.Status.Message, probe.Silent)
}

// request asks for lines until they are there. An output that is empty is read only once: its reading stays requested.
func (p *planner) request(request LogRequest, lines []string) {
	if len(lines) > 0 {
		p.out.Status.LastLog = lines
		return
	}
	p.out.Log = request
}

// reportLoop reports a crash loop together with its lines. If they take too long, it reports the loop without them, and
// they follow.
func (p *planner) reportLoop() {
	next := &p.out.Status
	begins := !p.Status.CrashLoop
	if !next.CrashLoop || p.Container == nil || !begins && len(p.Status.LastLog) > 0 {
		return
	}
	request := LogRequest{Container: p.Container.ID, End: EndOfLoop}
	lines, pending := p.read(request)
	p.request(request, lines)
	if begins && pending {
		next.CrashLoop, p.heldLoop = false, true
	}
}

// lateLog adds the lines of a failure that was reported without them.
func (p *planner) lateLog() {
	from := p.failedContainer()
	if p.Status.State != api.TaskFailed || len(p.Status.LastLog) > 0 || from == nil || from.live() {
		return
	}
	var lines []string
	request := LogRequest{Container: from.ID, End: EndOfTask}
	if p.Log != nil && p.Log.Request == request {
		lines = p.Log.Lines
	}
	p.request(request, lines)
}

// failedContainer returns the container that failed the task.
func (p *planner) failedContainer() *Container {
	progress := p.Status.Inits
	if p.Status.Reason != api.ReasonInitFailed || progress == nil {
		return p.Container
	}
	if progress.Next < len(p.Inits) {
		if at := p.findInit(p.Inits[progress.Next].Name); at != nil {
			return &at.Container
		}
	}
	return nil
}
