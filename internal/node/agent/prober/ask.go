package prober

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/runtime"
)

const (
	// maxMessage bounds the message of a failed attempt, which is stored.
	maxMessage = 300
	// engineTime bounds calls to the engine during an attempt: if they take longer, that is the engine's problem, not
	// the container's.
	engineTime = 30 * time.Second
)

// Containers gives the prober access to containers. ErrNotRunning means that the attempt's container doesn't run.
type Containers interface {
	// Address returns the host:port of a port of the attempt's container, as last observed; fresh asks the engine.
	Address(ctx context.Context, a Attempt, port int, fresh bool) (string, error)
	// Exec starts a command in the attempt's container.
	Exec(ctx context.Context, a Attempt, command []string) (runtime.Exec, error)
	// Redact removes secrets from the output of a command.
	Redact(a Attempt, text string) string
}

// Listening is implemented by Containers that know where the programs of the attempt's container listen.
type Listening interface {
	Listening(a Attempt) (where []string, known bool)
}

// ErrNotRunning means that the container doesn't run (any more), so its probes say nothing.
var ErrNotRunning = errors.New("the container does not run")

// Asking returns the Asker that probes real containers.
func Asking(containers Containers) Asker {
	q := &questions{containers: containers, web: newWeb()}
	return func(ctx context.Context, a Attempt) probe.Result {
		return q.result(ctx, a, q.ask(ctx, a))
	}
}

type questions struct {
	containers Containers
	web        *web
}

// ask returns why the attempt failed, nil if it passed.
func (q *questions) ask(ctx context.Context, a Attempt) error {
	switch {
	case a.Probe.HTTPGet != nil:
		get := *a.Probe.HTTPGet
		return q.reach(ctx, a, get.Port,
			func(ctx context.Context, address string) error { return q.web.get(ctx, address, get) })
	case a.Probe.TCPSocket != nil:
		return q.reach(ctx, a, a.Probe.TCPSocket.Port, connect)
	}
	return q.exec(ctx, a)
}

// reach makes the attempt at the container's address. If it fails at a cached address and the container has moved, it
// tries again at the new one: no event reports a network that was connected by hand. The timeout belongs to the
// container: it doesn't run during calls to the engine.
func (q *questions) reach(ctx context.Context, a Attempt, port int, at func(context.Context, string) error) error {
	address, err := q.address(ctx, a, port, false)
	if err != nil {
		return err
	}
	ask := func(address string) error {
		ctx, cancel := context.WithTimeout(ctx, a.Timeout)
		defer cancel()
		return at(ctx, address)
	}
	failure := ask(address)
	if failure == nil || ctx.Err() != nil {
		return failure
	}
	moved, err := q.address(ctx, a, port, true)
	if err != nil {
		return err
	}
	if moved != address {
		failure = ask(moved)
	}
	if errors.Is(failure, syscall.ECONNREFUSED) {
		return q.refused(a, port)
	}
	return failure
}

// refused says that a port refuses connections, and where something listens instead.
func (q *questions) refused(a Attempt, port int) error {
	text := fmt.Sprintf(":%d refuses connections", port)
	listening, able := q.containers.(Listening)
	if !able {
		return errors.New(text)
	}
	where, known := listening.Listening(a)
	switch {
	case !known:
		return errors.New(text)
	case len(where) == 0:
		return errors.New(text + "; nothing listens in the container")
	}
	return errors.New(text + "; " + probe.ListensElsewhere + strings.Join(where[:min(len(where), maxListed)], ", "))
}

// maxListed bounds the ports that a message names.
const maxListed = 4

// address returns the address within engineTime; if the engine takes longer, that says nothing about the container.
func (q *questions) address(ctx context.Context, a Attempt, port int, fresh bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	address, err := q.containers.Address(ctx, a, port, fresh)
	return address, notRunning(err)
}

// result distinguishes a failure of the container from an error that says nothing about it.
func (q *questions) result(ctx context.Context, a Attempt, err error) probe.Result {
	switch {
	case err == nil:
		return probe.Result{Pass: true}
	case ctx.Err() != nil, errors.Is(err, ErrNotRunning), errors.Is(err, runtime.ErrUnavailable),
		errors.Is(err, runtime.ErrNotFound):
		return probe.Result{Void: true}
	case errors.Is(err, context.DeadlineExceeded):
		return probe.Result{Message: "no answer within " + a.Timeout.String()}
	}
	return probe.Result{Message: bounded(q.containers.Redact(a, err.Error()))}
}

// bounded returns one line, short enough to be stored.
func bounded(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// NoAddressError reports a container that can't be reached over a network.
type NoAddressError struct{ Mode string }

func (e *NoAddressError) Error() string {
	if e.Mode == "none" {
		return "the container has no address: network_mode is none; use an exec probe"
	}
	return "the container has no address on any network; connect it to one, or use an exec probe"
}
