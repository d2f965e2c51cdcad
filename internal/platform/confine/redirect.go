package confine

import (
	"errors"
	"net/http"
)

// WithoutReferer follows redirects as Go's own policy does, but for the header in which that names the URL which
// redirected: a token in the URL would reach another host.
func WithoutReferer(request *http.Request, before []*http.Request) error {
	request.Header.Del("Referer")
	if len(before) >= 10 {
		return errors.New("it redirects more than 10 times")
	}
	return nil
}
