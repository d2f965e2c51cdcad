package healing

import (
	"time"

	"tend.dev/tend/api"
)

// logWait is how long word of a failure waits for the last lines of its container. Whoever reads the word writes it down
// once (a run, a rollback, a webhook's call), so lines that come a moment later would be missing there for good; an engine
// that is too busy to tell them must not keep a failure from being known.
const logWait = 10 * time.Second

// LogWish names last lines that a status should carry: of which container, and at which end. Two that are equal are one.
type LogWish struct {
	Container string
	End       LogEnd
}

// LogEnd says why lines are wanted.
type LogEnd string

// The ends.
const (
	EndOfTask LogEnd = "task" // the task has failed
	EndOfLoop LogEnd = "loop" // its container keeps ending
)

// LogReading is the reading of lines that a decision wished for: when it began, and once it is over, what it found.
type LogReading struct {
	Wish  LogWish
	Since time.Time
	Done  bool
	Lines []string
}

// read returns what was read for a wish. Pending says that lines may still come, and that it is not yet time to go on
// without them.
func (p *planner) read(wish LogWish) (lines []string, pending bool) {
	if p.Log == nil || p.Log.Wish != wish {
		p.lookAfter(logWait)
		return nil, true
	}
	if p.Log.Done {
		return p.Log.Lines, false
	}
	left := p.Log.Since.Add(logWait).Sub(p.now)
	if left <= 0 || left > logWait { // beyond: the clock was set back
		return nil, false
	}
	p.lookAfter(left)
	return nil, true
}

// wish asks for lines until they are there. What has no output to tell is asked once: its reading stays wished for.
func (p *planner) wish(wish LogWish, lines []string) {
	if len(lines) > 0 {
		p.out.Status.LastLog = lines
		return
	}
	p.out.Log = wish
}

// tellLoop lets a crash loop be told of together with its lines, or without them when they take too long: then they follow.
func (p *planner) tellLoop() {
	next := &p.out.Status
	begins := !p.Status.CrashLoop
	if !next.CrashLoop || p.Container == nil || !begins && len(p.Status.LastLog) > 0 {
		return
	}
	wish := LogWish{Container: p.Container.ID, End: EndOfLoop}
	lines, pending := p.read(wish)
	p.wish(wish, lines)
	if begins && pending {
		next.CrashLoop, p.heldLoop = false, true
	}
}

// lateLog takes the lines of a failure that was told of without them.
func (p *planner) lateLog() {
	from := p.failedContainer()
	if p.Status.State != api.TaskFailed || len(p.Status.LastLog) > 0 || from == nil || from.live() {
		return
	}
	var lines []string
	wish := LogWish{Container: from.ID, End: EndOfTask}
	if p.Log != nil && p.Log.Wish == wish {
		lines = p.Log.Lines
	}
	p.wish(wish, lines)
}

// failedContainer is the one that failed the task.
func (p *planner) failedContainer() *Container {
	progress := p.Status.Inits
	if p.Status.Reason != ReasonInitFailed || progress == nil {
		return p.Container
	}
	if progress.Next < len(p.Inits) {
		if at := p.findInit(p.Inits[progress.Next].Name); at != nil {
			return &at.Container
		}
	}
	return nil
}
