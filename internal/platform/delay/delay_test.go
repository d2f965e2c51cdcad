package delay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	for name, test := range map[string]struct {
		wait, end, want time.Duration // end is when the context ends; 0 is never
		ended           bool
	}{
		"its time":             {wait: time.Minute, want: time.Minute},
		"nothing":              {wait: -time.Minute},
		"the context is first": {wait: time.Minute, end: time.Second, want: time.Second, ended: true},
		"it ended before":      {wait: 0, end: -1, ended: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.end > 0 {
				time.AfterFunc(test.end, cancel)
			}
			if test.end < 0 {
				cancel()
			}
			began := time.Now()
			err := For(ctx, test.wait)
			if waited := time.Since(began); waited != test.want || errors.Is(err, context.Canceled) != test.ended {
				t.Errorf("%s: waited %s, %v", name, waited, err)
			}
		})
	}
}
