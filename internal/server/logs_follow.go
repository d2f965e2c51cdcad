package server

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
	container "tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/store/view"
)

// followLogs streams the output of an owner's pods as it comes, also of pods that come later and of containers that
// are started again: it looks at the tasks whenever one of them changes, and reads each incarnation once. It ends when
// nothing more can come: the one pod has ended, or the object is gone.
func (s *Server) followLogs(ctx context.Context, containers Containers, out *lines, wanted logsOf) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &logFollower{server: s, containers: containers, out: out, wanted: wanted, pods: map[string]*followedPod{},
		ended: make(chan *followedPod)}
	defer f.stop(cancel)
	watch := s.View.Watch(ctx, view.WatchOptions{Match: f.concerns})
	if err := out.begin(); err != nil {
		return err
	}
	for f.look(ctx) {
		select {
		case _, open := <-watch.Changes():
			if !open {
				return watch.Err()
			}
		case pod := <-f.ended:
			pod.reading = false
			if pod.err != nil {
				return pod.err
			}
		}
	}
	return nil
}

type logFollower struct {
	server     *Server
	containers Containers
	out        *lines
	wanted     logsOf
	// pods and what they hold belong to the goroutine in followLogs, but for what read says.
	pods  map[string]*followedPod
	ended chan *followedPod
}

// followedPod is one task whose output is, or was, read.
type followedPod struct {
	task, name string
	reading    bool
	// started is the incarnation that is or was read last.
	started time.Time
	// last is when the last line was put out. Written by read, looked at when it has ended.
	last time.Time
	// err is why the client can't be written to any more.
	err error
}

func (f *logFollower) concerns(c view.Change) bool {
	for _, record := range []any{c.New, c.Old} {
		switch value := record.(type) {
		case *api.Task:
			return value.Owner() == f.wanted.owner && f.wanted.wants(value)
		case *api.TaskStatus:
			return true // whose it is, look finds out
		case *api.Object:
			return value.Ref() == f.wanted.owner
		case *api.Run:
			return value.ID == f.wanted.run && value.Owner() == f.wanted.owner
		}
	}
	return false
}

// look starts reading what isn't read yet, and says whether more can come.
func (f *logFollower) look(ctx context.Context) bool {
	snap := layout.Snapshot{Reader: f.server.View.Snapshot()}
	more := f.wanted.goesOn(snap)
	for _, task := range snap.TasksOf(f.wanted.owner) {
		if !f.wanted.wants(task.Value) {
			continue
		}
		status := snap.TaskStatus(task.Value.ID)
		if !status.Exists() || !status.Value.State.Terminal() {
			more = more || task.Value.Desired == api.DesiredRunning
		}
		if status.Exists() && !status.Value.StartedAt.IsZero() {
			f.read(ctx, task.Value, status.Value)
		}
	}
	for _, pod := range f.pods {
		more = more || pod.reading
	}
	return more
}

// read begins with an incarnation that was not read yet.
func (f *logFollower) read(ctx context.Context, task *api.Task, status *api.TaskStatus) {
	pod := f.pods[task.ID]
	opts := f.wanted.opts
	switch {
	case pod == nil:
		pod = &followedPod{task: task.ID, name: task.ContainerName()}
		f.pods[task.ID] = pod
	case pod.reading || pod.started.Equal(status.StartedAt):
		return
	default:
		// The container, or one in its place, runs again: go on after the last line.
		opts.Tail = -1
		opts.Since = pod.started
		if pod.last.After(opts.Since) {
			opts.Since = pod.last.Add(1)
		}
	}
	pod.started, pod.reading = status.StartedAt, true
	go func() {
		pod.copy(ctx, f.containers, f.out, opts)
		f.ended <- pod
	}()
}

// copy puts out one incarnation's lines until it ends.
func (p *followedPod) copy(ctx context.Context, containers Containers, out *lines, opts container.LogOptions) {
	reader, err := containers.Logs(ctx, p.task, opts)
	if err != nil {
		// A container that is gone again is no fault: the task's next change says what follows.
		if !errors.Is(err, container.ErrNotFound) && ctx.Err() == nil {
			p.err = out.send("", api.LogLine{Pod: p.name, Error: problemOf(err)})
		}
		return
	}
	defer reader.Close()
	for {
		line, err := reader.Next()
		if err != nil {
			return
		}
		if p.err = out.send("", lineOf(p.name, line)); p.err != nil {
			return
		}
		p.last = line.At
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
