package server

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// query reads the parameters of a request that huma does not read. A parameter that the handler did not read is an
// error, so that a typo is reported.
type query struct {
	values url.Values
	known  []string
	fault  error
}

func queryOf(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.fault = badRequest("escape the parameters", "malformed query: %v", err)
	}
	return q
}

func (q *query) text(name string) string {
	q.known = append(q.known, name)
	if len(q.values[name]) > 1 && q.fault == nil {
		q.fault = badRequest("give it once", "parameter %s is given %d times", name, len(q.values[name]))
	}
	return q.values.Get(name)
}

func (q *query) boolean(name string) bool {
	text := q.text(name)
	if text == "" && !q.values.Has(name) {
		return false
	}
	if text == "" {
		return true // ?follow is ?follow=1
	}
	value, err := strconv.ParseBool(text)
	if err != nil && q.fault == nil {
		q.fault = badRequest("use 1 or 0", "parameter %s is %q", name, text)
	}
	return value
}

func (q *query) integer(name string, fallback, lowest int64) int64 {
	text := q.text(name)
	if text == "" {
		return fallback
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || value < lowest) && q.fault == nil {
		q.fault = badRequest("use a whole number of at least "+strconv.FormatInt(lowest, 10),
			"parameter %s is %q", name, text)
	}
	return value
}

// moment reads a time (RFC 3339) or a duration before now ("10m").
func (q *query) moment(name string) time.Time {
	text := q.text(name)
	if text == "" {
		return time.Time{}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if (err != nil || !api.Storable(at)) && q.fault == nil {
		q.fault = badRequest("use a length (10m) or a time (2006-01-02T15:04:05Z)", "parameter %s is %q", name, text)
	}
	return at
}

// done returns the first error, or an error about an unknown parameter.
func (q *query) done() error {
	if q.fault != nil {
		return q.fault
	}
	for name := range q.values {
		if !slices.Contains(q.known, name) {
			slices.Sort(q.known)
			next := "there are no parameters here"
			if len(q.known) > 0 {
				next = "known are: " + strings.Join(q.known, ", ")
			}
			return badRequest(next, "unknown parameter %q", name)
		}
	}
	return nil
}
