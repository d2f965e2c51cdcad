//go:build linux

package shim

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/journal"
	"tend.dev/tend/internal/node/runtime/restart"
)

// supervisor runs a program from its first start to its last end, in one loop on one thread. The listener and the
// readers of the output run beside it.
type supervisor struct {
	dir      string
	child    *child
	listener *listener
	output   *journal.Writer
	policy   restart.Policy

	status   Status
	backoff  restart.Backoff
	readers  *sync.WaitGroup // of the incarnation's output
	ooms     int             // the kernel's count when the incarnation began
	stopped  bool            // a stop was requested
	shutdown bool            // the machine is shutting down
	waiting  []stopRequest
	deadline *time.Timer // of the stop
	// deadlineAt is the time at which deadline fires.
	deadlineAt time.Time
	again      *time.Timer // of the restart

	children, ends chan os.Signal // SIGCHLD and SIGTERM
}

// listen must be called before the first start: an unhandled signal would end the shim.
func (s *supervisor) listen() {
	s.children, s.ends = make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(s.children, syscall.SIGCHLD)
	signal.Notify(s.ends, syscall.SIGTERM)
}

// first starts the program for the first time. If that fails, the caller reports the error, and nothing runs.
func (s *supervisor) first() *StartError {
	if err := s.start(); err != nil {
		s.status.Error, s.status.ExitCode = err.Text, failedStart
		if s.status.StartedAt.IsZero() {
			s.status.State = runtime.StateCreated
		} else {
			s.status.State = runtime.StateExited
		}
		s.save()
		return err
	}
	return nil
}

// failedStart is the exit code of a program that could not be started, as in a shell.
const failedStart = 127

func (s *supervisor) start() *StartError {
	s.ooms = s.child.group.oomKills()
	run, err := s.child.start()
	if err != nil {
		return s.child.startError(err)
	}
	s.readers = &sync.WaitGroup{}
	for stream, file := range map[string]*os.File{"stdout": run.stdout, "stderr": run.stderr} {
		s.readers.Go(func() {
			s.output.Copy(stream, file)
			_ = file.Close()
		})
	}
	s.status.State, s.status.PID, s.status.StartedAt = runtime.StateRunning, run.pid, time.Now()
	s.status.Error, s.status.ExitCode, s.status.OOMKilled = "", 0, false
	s.save()
	s.notify(Message{Event: runtime.EventStart})
	return nil
}

// run is the main loop. It returns when the program will not run again.
func (s *supervisor) run() {
	for s.status.Active() {
		select {
		case <-s.children:
			s.collect()
		case request := <-s.listener.stops:
			s.stop(request)
		case <-s.ends:
			s.shutdown = true
			s.stop(stopRequest{grace: shutdownGrace, done: func() {}})
		case <-after(s.deadline):
			s.deadline = nil
			s.kill()
		case <-after(s.again):
			s.again = nil
			s.restart()
		}
	}
	for _, request := range s.waiting {
		request.done()
	}
}

// shutdownGrace is a program's grace period when the machine shuts down.
const shutdownGrace = 10 * time.Second

func after(timer *time.Timer) <-chan time.Time {
	if timer == nil {
		return nil
	}
	return timer.C
}

func (s *supervisor) collect() {
	for _, end := range reap() {
		if end.pid == s.status.PID && s.status.State == runtime.StateRunning {
			s.ended(end.code)
		}
	}
}

// ended handles the end of an incarnation: it kills what the program left behind, reads the rest of the output and
// applies the policy.
func (s *supervisor) ended(code int) {
	finished := time.Now()
	killAll(os.Getpid())
	s.drain()
	s.status.PID, s.status.ExitCode, s.status.FinishedAt = 0, code, finished
	s.status.OOMKilled = s.child.group.oomKills() > s.ooms
	s.status.State = runtime.StateExited
	stopped := s.stopped || s.shutdown
	if s.policy.Restarts(restart.End{ExitCode: code, Restarts: s.status.RestartCount, Stopped: stopped}) {
		s.status.State = runtime.StateRestarting
		s.again = time.NewTimer(s.backoff.Next(finished.Sub(s.status.StartedAt)))
	}
	s.save()
	if s.status.OOMKilled {
		s.notify(Message{Event: runtime.EventOOM})
	}
	s.notify(Message{Event: runtime.EventDie, ExitCode: code})
	if stopped {
		s.notify(Message{Event: runtime.EventStop})
	}
}

// drainTime bounds the wait for output after the end. Only an escaped process could hold the output open.
const drainTime = 2 * time.Second

func (s *supervisor) drain() {
	done := make(chan struct{})
	go func() {
		s.readers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
}

func (s *supervisor) restart() {
	s.status.RestartCount++
	if err := s.start(); err != nil {
		s.status.StartedAt = time.Now()
		s.status.Error = err.Error()
		s.readers = &sync.WaitGroup{}
		s.ended(failedStart)
	}
}

// stop starts a stop, or joins the one under way. The shorter grace period counts.
func (s *supervisor) stop(request stopRequest) {
	s.stopped = s.stopped || !s.shutdown
	s.waiting = append(s.waiting, request)
	if s.status.State == runtime.StateRestarting {
		s.again.Stop()
		s.status.State = runtime.StateExited
		s.save()
		s.notify(Message{Event: runtime.EventStop})
		return
	}
	if len(s.waiting) == 1 {
		s.signal(s.child.record.Program.Signal())
	}
	if at := time.Now().Add(request.grace); s.deadline == nil || at.Before(s.deadlineAt) {
		s.deadline, s.deadlineAt = time.NewTimer(request.grace), at
	}
}

// signal signals the program and its process group, as a terminal would.
func (s *supervisor) signal(number syscall.Signal) {
	s.notify(Message{Event: runtime.EventKill, Signal: signalName(number)})
	_ = syscall.Kill(-s.status.PID, number)
}

func (s *supervisor) kill() {
	s.signal(syscall.SIGKILL)
	_ = syscall.Kill(s.status.PID, syscall.SIGKILL)
}

func (s *supervisor) save() {
	// If a status can't be written, the older one stays. The program keeps running: a full disk must not end it.
	if err := writeJSON(s.dir, statusFile, s.status); err != nil {
		complain(err)
	}
}

func (s *supervisor) notify(message Message) {
	message.At = time.Now()
	s.listener.notify(message)
}
