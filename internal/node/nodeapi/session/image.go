package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/wire"
)

// errQuiet means that a node is too slow with an image: another one is asked for it.
var errQuiet = fmt.Errorf("%w: it sends less than %d KiB of the image in %v", node.ErrNotConnected,
	boundary.ImageBytes>>10, boundary.ImageTime)

// soughtImage names an image that a node is asked for, by an object of a scope.
type soughtImage struct {
	Scope string `json:"scope"`
	Image string `json:"image"`
}

func (s *server) findImage(w http.ResponseWriter, r *http.Request) error {
	var sought soughtImage
	if err := (wire.Body{Most: maxAsked}).Read(w, r, &sought); err != nil {
		return err
	}
	found, err := s.node.FindImage(r.Context(), sought.Scope, sought.Image)
	if err != nil {
		return err
	}
	return wire.Write(w, found)
}

// SaveImage implements nodeapi.Node.
func (c *client) SaveImage(ctx context.Context, id string, has node.Part) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	// it reads the part first
	reading := min(time.Duration(has.Size/boundary.ImageRate)*time.Second, boundary.ImagePartTime)
	quiet := time.AfterFunc(boundary.ImageTime+reading, func() { cancel(errQuiet) })
	answer, err := c.caller.Send(ctx, http.MethodGet, "images/"+url.PathEscape(id)+wire.QueryOf(has), nil)
	if !quiet.Stop() && err == nil {
		_ = answer.Body.Close()
		err = errQuiet
	}
	if err != nil {
		err = causeOr(ctx, err)
		cancel(nil)
		return nil, err
	}
	return &arriving{ReadCloser: answer.Body, ctx: ctx, cancel: cancel}, nil
}

// causeOr returns that the node is too slow, if this is why an error came.
func causeOr(ctx context.Context, err error) error {
	if context.Cause(ctx) == errQuiet { //nolint:errorlint // it is the value itself
		return errQuiet
	}
	return err
}

// arriving is an image on its way. Only the time counts in which the node is waited for: who reads may be slow.
type arriving struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	// waited is for how long there came no more than these bytes.
	waited time.Duration
	bytes  int
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	began := time.Now()
	quiet := time.AfterFunc(boundary.ImageTime-a.waited, func() { a.cancel(errQuiet) })
	n, err := a.ReadCloser.Read(p)
	quiet.Stop()
	a.waited += time.Since(began)
	if a.bytes += n; a.bytes >= boundary.ImageBytes {
		a.waited, a.bytes = 0, 0
	}
	if err != nil && err != io.EOF { //nolint:errorlint // readers return it as it is
		err = causeOr(a.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *arriving) Close() error {
	a.cancel(nil)
	return a.ReadCloser.Close()
}
