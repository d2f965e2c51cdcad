package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// fakeServing serves nothing.
type fakeServing struct{}

func (fakeServing) shut() {}

// TestATakenPortIsTriedAgain: a listener is retried every retryBind until it opens, without a trigger from outside.
func TestATakenPortIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var tried []time.Duration
		opts := ListenOptions{}
		opts.fill()
		k := newKept("127.0.0.1:80", opts, func(context.Context, string) (opened, string, error) {
			if tried = append(tried, time.Since(began)); len(tried) < 3 {
				return nil, "", errors.New("address already in use")
			}
			return fakeServing{}, "127.0.0.1:80", nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			k.run(ctx)
		}()
		k.want(true)
		time.Sleep(time.Minute)
		cancel()
		<-ended
		if want := []time.Duration{0, retryBind, 2 * retryBind}; !slices.Equal(tried, want) {
			t.Errorf("tried after %v, want %v", tried, want)
		}
		if state := k.state(); !state.Open || state.Error != "" {
			t.Errorf("%+v", state)
		}
	})
}

// TestRequestsUnderWayAreAnswered: a request that is under way when its listener closes has its answer; the pod answers
// once the listener's server has begun to shut down.
func TestRequestsUnderWayAreAnswered(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	opts := ListenOptions{}
	opts.fill()
	server, address, err := newListener(opts, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-leave
		fmt.Fprint(w, "hello")
	}), nil).open()
	if err != nil {
		t.Fatal(err)
	}
	server.RegisterOnShutdown(func() { close(leave) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-inside
		server.shut()
	}()
	answer, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); string(text) != "hello" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	<-ended
}
