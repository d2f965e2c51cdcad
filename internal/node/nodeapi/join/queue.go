package join

import (
	"net/http"
	"time"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/limit"
)

// queue bounds what machines cause that may have no certificate: see boundary.
type queue struct {
	address, all *limit.Places
	wrong        *limit.Rates
}

func newQueue() *queue {
	return &queue{
		address: limit.NewPlaces(boundary.Joins, boundary.JoinWait),
		all:     limit.NewPlaces(boundary.AllJoins, boundary.JoinWait),
		wrong:   limit.NewRates(boundary.WrongTokenRate, boundary.WrongTokenBurst, time.Now),
	}
}

// within answers a request once it has a place. One with a wrong token counts for its address.
func (q *queue) within(w http.ResponseWriter, r *http.Request, answer func() error) error {
	from := limit.Client(r.RemoteAddr)
	if wait := q.wrong.Wait(from); wait > 0 {
		return wire.Busy(w, wait, "too many requests with wrong tokens came from this address")
	}
	mine, ok := q.address.Enter(r.Context(), from)
	if !ok {
		return wire.Busy(w, time.Second, "too many machines of this address join at this moment")
	}
	defer mine()
	leave, ok := q.all.Enter(r.Context(), "")
	if !ok {
		return wire.Busy(w, time.Second, "too many machines join at this moment")
	}
	defer leave()
	err := answer()
	if err != nil && wire.ProblemOf(err).Title == tokenRefused {
		q.wrong.Take(from, 1)
	}
	return err
}

// body bounds the bytes read of their requests.
var body = wire.Body{Most: boundary.MaxJoin, Within: boundary.JoinTime}

func answering[Request, Answer any](q *queue, decide func(*http.Request, Request) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var given Answer
		err := q.within(w, r, func() error {
			var asked Request
			err := body.Read(w, r, &asked)
			if err == nil {
				given, err = decide(r, asked)
			}
			return err
		})
		if err != nil {
			wire.Fail(w, wire.ProblemOf(err))
			return
		}
		_ = wire.Write(w, given)
	}
}
