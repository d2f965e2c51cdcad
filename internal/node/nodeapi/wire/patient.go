package wire

import (
	"net/http"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/delay"
)

// A server that is asked for too much at once says when to come again: a client does so this often, and waits no longer
// than this.
const (
	mostTries   = 5
	longestWait = 15 * time.Second
)

// Patient makes requests with do; those that a busy server didn't take once more, when it said.
func Patient(do func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(request *http.Request) (*http.Response, error) {
		for try := 1; ; try++ {
			answer, err := do(request)
			if err != nil || answer.StatusCode != http.StatusTooManyRequests || try == mostTries ||
				request.Body != nil && request.GetBody == nil {
				return answer, err
			}
			wait, said := retryAfter(answer)
			if ends, limited := request.Context().Deadline(); !said || wait > longestWait || limited && time.Until(ends) < wait {
				return answer, nil
			}
			_ = answer.Body.Close()
			if request.GetBody != nil {
				if request.Body, err = request.GetBody(); err != nil {
					return nil, err
				}
			}
			if err := delay.For(request.Context(), wait); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter returns when a server says to come again.
func retryAfter(answer *http.Response) (wait time.Duration, said bool) {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil
}

// Busy returns why a request isn't taken now; the answer says when it may be.
func Busy(w http.ResponseWriter, wait time.Duration, detail string) error {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	return &api.Problem{Title: "Busy", Status: http.StatusTooManyRequests, Detail: detail,
		Next: "try once more in a moment"}
}
