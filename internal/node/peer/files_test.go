package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/nodeapi/wire"
)

// trickle is a body that sends a byte after each pause, and then nothing more until the request ends, or its end.
type trickle struct {
	ctx   context.Context
	pause time.Duration
	left  int
	ends  bool
}

func (b *trickle) Read(p []byte) (int, error) {
	if b.left == 0 && b.ends {
		return 0, io.EOF
	}
	if b.left == 0 {
		b.pause = 1000 * time.Hour
	}
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(b.pause):
		b.left--
		return copy(p, "x"), nil
	}
}

func (*trickle) Close() error { return nil }

// TestASilentServer: a server that never answers, or stops in the middle, is left; one that is slow is not, and neither
// is it while the file is written here.
func TestASilentServer(t *testing.T) {
	for name, test := range map[string]struct {
		answers, ends bool
		want          error
	}{
		"never answers": {want: errSilent},
		"stops":         {answers: true, want: errSilent},
		"is slow":       {answers: true, ends: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := wire.Caller{Base: "https://b", Do: func(r *http.Request) (*http.Response, error) {
				if !test.answers {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return &http.Response{StatusCode: http.StatusOK,
					Body: &trickle{ctx: r.Context(), pause: silence - time.Second, left: 5, ends: test.ends}}, nil
			}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			var kept bytes.Buffer
			err := fetch(ctx, server, "d", func(content io.Reader) error {
				_, err := io.Copy(&kept, content)
				if err == nil {
					time.Sleep(2 * silence) // a slow disk
				}
				return errors.Join(err, ctx.Err())
			})
			if !errors.Is(err, test.want) || test.want == nil && (err != nil || kept.String() != "xxxxx") {
				t.Errorf("%s: %v, after %q", name, err, kept.String())
			}
		})
	}
}
