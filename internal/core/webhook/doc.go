// Package webhook decides the content of a webhook's call and the next state of its delivery: it builds the request
// from a hook and the tokens of an event, and the next state of a delivery from an answer.
//
// It makes no calls. A call is made at least once: the caller records the outcome afterwards, so a crash in between
// makes it again, under the same Idempotency-Key.
//
// The answers: 200 to 299 is delivered. No answer within the time of an attempt, 408, 425, 429 and 500 to 599 are
// retried, after 1, 5 and 30 s with up to 20 % on top, four attempts in all. Anything else is final: a receiver that
// answers 410 or 401 would answer the same a second later.
package webhook
