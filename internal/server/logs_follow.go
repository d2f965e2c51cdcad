package server

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// resumeAfter is the pause before a reader is opened again if its container still runs.
const resumeAfter = time.Second

// followLogs streams the output of an owner's pods as it comes, also of pods created later and of containers started
// again: it checks the tasks whenever one of them changes, and reads each incarnation once. It ends when no more output
// can come: the single pod has ended, or the object is gone.
//
// An engine may end a stream, or restart it, while its container continues to run. Then followLogs opens the reader
// again after the last line, and does not repeat lines that it sent.
func (s *Server) followLogs(ctx context.Context, out *lines, wanted logsOf) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &logFollower{server: s, out: out, wanted: wanted, pods: map[string]*followedPod{},
		ended: make(chan *followedPod)}
	defer f.stop(cancel)
	begin := func() *view.Watch { return s.View.Watch(ctx, view.WatchOptions{Match: f.concerns}) }
	watch := begin()
	if err := out.begin(); err != nil {
		return err
	}
	resume, armed := time.NewTimer(resumeAfter), true
	defer resume.Stop()
	for f.refresh(ctx) {
		select {
		case _, open := <-watch.Changes():
			switch {
			case open:
			case !errors.Is(watch.Err(), view.ErrGone):
				return watch.Err()
			default:
				watch = begin() // it fell behind, which loses nothing: refresh reads the newest state
			}
		case pod := <-f.ended:
			pod.reading, pod.cut = false, true
			if pod.err != nil {
				return pod.err
			}
			if !armed { // a waiting retry isn't delayed by other readers that end
				resume.Reset(resumeAfter)
				armed = true
			}
		case <-resume.C:
			armed = false
			for _, pod := range f.pods {
				if pod.cut && pod.runs {
					pod.mark = "" // refresh opens it again
				}
				pod.cut = false
			}
		}
	}
	return nil
}

// logFollower follows the output of an owner's pods for one reader.
type logFollower struct {
	server *Server
	out    *lines
	wanted logsOf
	// the goroutine of followLogs owns pods and their fields, unless a field's comment names another
	pods  map[string]*followedPod
	ended chan *followedPod
}

// followedPod is one container whose output is, or was, read.
type followedPod struct {
	source
	reading bool
	// cut is set if the stream ended although the container may have more output.
	cut bool
	// sent records what was sent. Written by copy, read when copy has ended.
	sent sentLines
	// err is the error of the last write to the client.
	err error
}

func (f *logFollower) concerns(c view.Change) bool {
	for _, record := range []any{c.New, c.Old} {
		switch value := record.(type) {
		case *api.Task:
			return value.Owner() == f.wanted.owner && f.wanted.wants(value)
		case *api.TaskStatus:
			return true // refresh finds the owner
		case *api.Object:
			return value.Ref() == f.wanted.owner
		case *api.Run:
			return value.ID == f.wanted.run && value.Owner() == f.wanted.owner
		}
	}
	return false
}

// refresh starts the missing readers, and reports whether more output can come.
func (f *logFollower) refresh(ctx context.Context) bool {
	snap := records.Snapshot{Reader: f.server.View.Snapshot()}
	more := f.wanted.goesOn(snap)
	for _, task := range snap.TasksOf(f.wanted.owner) {
		if !f.wanted.wants(task.Value) {
			continue
		}
		more = more || f.wanted.mayCome(snap, task.Value)
		for _, from := range f.wanted.sources(snap, task.Value) {
			if from.mark != "" {
				f.read(ctx, from)
			}
		}
	}
	for _, pod := range f.pods {
		more = more || pod.reading
	}
	return more
}

// read starts to read an incarnation, once.
func (f *logFollower) read(ctx context.Context, from source) {
	pod := f.pods[from.id]
	opts := f.wanted.opts
	switch {
	case pod == nil:
		pod = &followedPod{}
		f.pods[from.id] = pod
	case pod.reading || pod.mark == from.mark:
		pod.runs = from.runs
		return
	default:
		// The container, or its replacement, runs again: continue after the last line.
		opts.Tail = -1
		opts.Since = pod.began
		if pod.sent.last.After(opts.Since) {
			opts.Since = pod.sent.last.Add(1)
		}
	}
	pod.source, pod.reading, pod.cut = from, true, false
	recovery.Go(func() {
		defer func() { f.ended <- pod }()
		pod.copy(ctx, f.server, from, f.out, opts)
	})
}

// copy sends the lines of one incarnation until it ends.
func (p *followedPod) copy(ctx context.Context, s *Server, from source, out *lines, opts container.LogOptions) {
	reader, err := s.read(ctx, from, opts)
	if err != nil {
		// A removed container is not an error: the task's next change shows its successor.
		if !absent(err) && ctx.Err() == nil {
			p.err = out.send("", api.LogLine{Pod: p.pod, Error: problemOf(err)})
		}
		return
	}
	defer reader.Close()
	for {
		line, err := reader.Next()
		if err != nil {
			return
		}
		if p.sent.before(line, time.Now()) {
			continue
		}
		if p.err = out.send("", lineOf(p.pod, line)); p.err != nil {
			return
		}
	}
}

// stop ends every reader and waits for it.
func (f *logFollower) stop(cancel context.CancelFunc) {
	cancel()
	for _, pod := range f.pods {
		for pod.reading {
			(<-f.ended).reading = false
		}
	}
}
