package sink

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	core "tend.dev/tend/internal/core/sink"
)

// A mail is delivered to each address apart: one that is refused keeps no other from its mail, is counted, and is named
// by the sink's condition until a mail arrives there, or the sink is changed.

// known returns the addresses that the sink still has; nil is all.
func (p *pump) known(left []string) []string {
	if p.spec.Mail == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(left), func(address string) bool {
		return !slices.Contains(p.spec.Mail.To,
			address)
	})
}

func addressesOf(each []core.Addressed) []string {
	out := make([]string, len(each))
	for i, a := range each {
		out[i] = a.To
	}
	return out
}

// arrived records the addresses that a mail arrived at, or that refuse it, and returns those that are tried again.
func (p *pump) arrived(id string, each []core.Addressed) (left []core.Addressed) {
	var refused []core.Addressed
	now := p.deps.Now()
	for _, a := range each {
		switch core.Judge(a.Answer) {
		case core.Delivered:
			p.Count(p.spec.Type(), CountDelivered)
			p.change(urgentSave, func(next *api.SinkProgress) {
				next.Sent++
				next.LastSentAt = now
				next.Refusals = slices.DeleteFunc(slices.Clone(next.Refusals),
					func(r api.SinkRefusal) bool { return r.Address == a.To })
			})
		case core.Retry:
			left = append(left, a)
		default:
			refused = append(refused, a)
		}
	}
	p.lost(id, refused)
	return left
}

// lost records the addresses for which a mail is given up.
func (p *pump) lost(id string, each []core.Addressed) {
	now := p.deps.Now()
	for _, a := range each {
		p.Count(p.spec.Type(), CountDead)
		p.logger.Warn("given up", "id", id, "address", a.To, "error", core.Text(a.Answer))
		p.change(urgentSave, func(next *api.SinkProgress) {
			next.Dead++
			next.LastError, next.LastErrorAt = a.To+": "+core.Text(a.Answer), now
			next.Refusals = refusedOnce(next.Refusals, a, now)
		})
	}
}

// refusedOnce returns the refusals with one more.
func refusedOnce(before []api.SinkRefusal, a core.Addressed, now time.Time) []api.SinkRefusal {
	out := slices.Clone(before)
	at := slices.IndexFunc(out, func(r api.SinkRefusal) bool { return r.Address == a.To })
	if at < 0 {
		at, out = len(out), append(out, api.SinkRefusal{Address: a.To, At: now})
	}
	out[at].Lost++
	out[at].Error = core.Text(a.Answer)
	return out
}

// concluded ends what is sent, once each address has it or is given up.
func (p *pump) concluded(done func(*api.SinkProgress)) bool {
	p.change(urgentSave, func(next *api.SinkProgress) {
		next.Trying, next.BehindSince = nil, time.Time{}
		done(next)
	})
	return true
}
