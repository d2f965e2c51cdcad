package sink

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/internal/core/webhook"
)

// Answer is the result of an attempt.
type Answer = webhook.Answer

// Addressed is the result of an attempt to send a mail to one address.
type Addressed struct {
	To string
	Answer
}

// taken is SMTP's code of a mail that the server took.
const taken = 250

// Combined returns what came of the attempts for several addresses as one answer: one that is refused only if nothing
// is left to try.
func Combined(each []Addressed) Answer {
	final := true
	var failed []string
	for _, a := range each {
		verdict := Judge(a.Answer)
		if verdict == Delivered {
			continue
		}
		final = final && verdict == Refused
		failed = append(failed, a.To+": "+Text(a.Answer))
	}
	if len(failed) == 0 {
		return Answer{Status: taken}
	}
	return Answer{Final: final, Err: errors.New(strings.Join(failed, "; "))}
}

// Verdict is the meaning of an answer.
type Verdict int

// The verdicts.
const (
	// Delivered: the receiver has it.
	Delivered Verdict = iota
	// Retry: the next attempt may succeed.
	Retry
	// Refused: the receiver will never take this one; the next one is sent.
	Refused
	// Gone: the receiver will never take anything again; nothing is sent until the sink is changed.
	Gone
)

// Judge returns what an answer means. 2xx is delivered and 410 gone for good. No answer, 408, 425, 429 and 5xx are
// tried again; so are 3xx, 401, 403, 404, 405 and 407, which speak of the sink or its receiver and not of what was
// sent. Any other 4xx refuses what was sent.
func Judge(a Answer) Verdict {
	switch s := a.Status; {
	case s >= 200 && s < 300 && a.Err == nil:
		return Delivered
	case a.Final:
		return Refused
	case s == 410:
		return Gone
	case s == 408, s == 425, s == 429, s < 400, s >= 500, s == 401, s == 403, s == 404, s == 405, s == 407:
		return Retry
	}
	return Refused
}

// maxText bounds what Text returns, in bytes.
const maxText = 300

// Text returns the result of an attempt, in one line.
func Text(a Answer) string {
	switch {
	case a.Err != nil:
		first, _, _ := strings.Cut(a.Err.Error(), "\n") // it may quote the receiver at length
		return strings.ToValidUTF8(first[:min(len(first), maxText)], "")
	case a.Status == 0:
		return "no answer"
	}
	return fmt.Sprintf("the receiver answered %d", a.Status)
}

// The times between attempts: the first, and the longest.
const (
	firstWait = time.Second
	MaxWait   = 5 * time.Minute
)

// Wait returns how long to wait after a number of failed attempts: 1 s, doubled each time up to 5 min, and up to 20 %
// on top. A receiver that asks for more time gets it, up to 5 min. spread, from 0 to 1, is the place within the jitter.
func Wait(attempts int, asked time.Duration, spread float64) time.Duration {
	wait := MaxWait
	if shift := attempts - 1; shift < 10 {
		wait = min(firstWait<<max(shift, 0), MaxWait)
	}
	wait = max(wait, min(asked, MaxWait))
	return wait + time.Duration(spread*0.2*float64(wait))
}
