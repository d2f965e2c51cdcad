package sink

import (
	"context"
	"fmt"
	"log/slog"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	core "tend.dev/tend/internal/core/sink"
	"tend.dev/tend/internal/core/webhook"
)

// Effects are the functions by which something is sent. Each makes one attempt and returns when its context ends.
type Effects struct {
	Call func(ctx context.Context, r webhook.Request) webhook.Answer
	// Mail returns an answer for each address.
	Mail func(ctx context.Context, m core.Mail) []core.Answer
	// Relay has the library shoutrrr send a message.
	Relay func(ctx context.Context, r core.Relay) core.Answer
	// Agent is the User-Agent.
	Agent string
}

// Sender makes single attempts.
type Sender struct {
	Effects
	deps         control.Deps
	source       string
	environments *environment.Environments
}

// NewSender returns a Sender of the events of a source.
func NewSender(deps control.Deps, effects Effects, source string) *Sender {
	deps = deps.Defaults()
	return &Sender{Effects: effects, deps: deps, source: source, environments: environment.New(deps.Sealer)}
}

// Outcome is the result of an attempt. Each has those of a mail, one for each address; Answer combines them.
type Outcome struct {
	core.Answer
	Each []core.Addressed
}

// Attempt makes one attempt to send something as an object's spec says, with the config values of now. receiver says
// what may be shown of the address.
func (s *Sender) Attempt(ctx context.Context, ref api.Ref, spec api.SinkSpec, content core.Content) (outcome Outcome,
	receiver string) {
	content.Source = s.source
	snap := s.deps.Snapshot()
	parcel, err := core.Builder{
		Spec: spec, Spaces: s.environments.Spaces(snap, ref, nil), Agent: s.Agent, Now: s.deps.Now(),
		Confines: func(address string) bool { return environment.Confines(snap, ref, nil, address) },
	}.Build(content)
	if err != nil { // a config value may be set at any time
		return Outcome{Answer: core.Answer{Err: err}}, ""
	}
	ctx, cancel := context.WithTimeout(ctx, parcel.Timeout)
	defer cancel()
	switch {
	case parcel.Request != nil:
		outcome.Answer = s.Call(ctx, *parcel.Request)
	case parcel.Mail != nil:
		for i, answer := range s.Mail(ctx, *parcel.Mail) {
			outcome.Each = append(outcome.Each, core.Addressed{To: parcel.Mail.To[i], Answer: answer})
		}
		outcome.Answer = core.Combined(outcome.Each)
	case parcel.Relay != nil && parcel.Relay.Confined: // the library calls whatever the address names
		what, next := environment.Confining(snap, ref, nil, spec.Shoutrrr.URL)
		outcome.Answer = core.Answer{Final: true, Err: fmt.Errorf("its url is decided by %s; %s", what, next)}
	case parcel.Relay != nil:
		outcome.Answer = s.Relay(ctx, *parcel.Relay)
	case parcel.Line != nil:
		s.print(ctx, *parcel.Line)
		outcome.Status = printed
	default:
		outcome.Answer = core.Answer{Final: true, Err: fmt.Errorf("%s is not supported", spec.Type())}
	}
	return outcome, parcel.Receiver
}

// printed is the answer of the server's log, as HTTP has it.
const printed = 200

func (s *Sender) print(ctx context.Context, e api.Event) {
	s.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "event", slog.String("id", e.ID), slog.String("type", e.Type),
		slog.String("subject", e.Subject),
		slog.Time("at", e.Time), slog.String("data", string(e.Data)))
}
