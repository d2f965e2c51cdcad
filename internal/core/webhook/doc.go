// Package webhook decides what a webhook's call says and what becomes of it: the request from a hook and the tokens of
// an event, and the next state of a delivery from an answer.
//
// It calls nobody. A call is made at least once: who makes it records the outcome afterwards, so a crash in between makes
// it again, under the same Idempotency-Key.
//
// What an answer means: 200 to 299 is delivered. No answer within the time of an attempt, 408, 425, 429 and 500 to 599
// are tried again, after 1, 5 and 30 s with up to 20 % on top, four attempts in all. Anything else is final: a receiver
// that says 410 or 401 says the same a second later.
package webhook
