package messenger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/sink"
)

// RelayCommand is the command with which a program calls ServeRelay.
const RelayCommand = "send-message"

// relayGrace is the time that the child process gets to exit after its attempt ends.
const relayGrace = 2 * time.Second

// Relay makes one attempt to send a text through the library shoutrrr. The library takes no context, reads answers
// without a bound and puts addresses into its errors, so it runs in a child process that ends with ctx.
func (m *Messenger) Relay(ctx context.Context, r sink.Relay) sink.Answer {
	service, _, _ := strings.Cut(r.URL, ":")
	input, err := json.Marshal(r)
	if err != nil {
		return sink.Answer{Final: true, Err: fmt.Errorf("encode the message: %w", err)}
	}
	output := &prefix{}
	child := exec.CommandContext(ctx, m.Program, RelayCommand)
	child.Stdin, child.Stdout, child.WaitDelay = bytes.NewReader(input), output, relayGrace
	err = child.Run()
	switch {
	case ctx.Err() != nil:
		return sink.Answer{Err: fmt.Errorf("%s: no answer in time", service)}
	case err == nil:
		return sink.Answer{Status: http.StatusOK}
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return sink.Answer{Err: fmt.Errorf("start %s: %w", RelayCommand, err)}
	}
	text := output.String()
	if text == "" {
		text = "the attempt ended with " + exit.String()
	}
	return sink.Answer{Err: errors.New(service + ": " + text)}
}

// prefix keeps the first bytes written to it, and drops the rest.
type prefix struct{ bytes.Buffer }

func (p *prefix) Write(b []byte) (int, error) {
	const most = 500
	_, _ = p.Buffer.Write(b[:min(len(b), max(0, most-p.Len()))])
	return len(b), nil
}

// ServeRelay reads a sink.Relay, sends it and returns an exit code. It writes the cause of a failure, without the
// address.
func ServeRelay(in io.Reader, out io.Writer) int {
	var r sink.Relay
	if err := json.NewDecoder(io.LimitReader(in, maxRead)).Decode(&r); err != nil {
		fmt.Fprint(out, "the message can't be read")
		return 1
	}
	http.DefaultTransport = bounded{http.DefaultTransport}
	sender, err := shoutrrr.CreateSender(r.URL)
	if err != nil {
		fmt.Fprint(out, "shoutrrr v", shoutrrr.Version(), " does not support its address")
		return 1
	}
	sender.Timeout = sink.MailTime
	for _, err := range sender.Send(r.Text, &types.Params{"title": r.Title}) {
		if err != nil {
			fmt.Fprint(out, shownFailure(err))
			return 1
		}
	}
	return 0
}

var statusInText = pattern.Lazy(`(?i)status[^0-9]{0,20}([1-5][0-9]{2})\b`)

// shownFailure returns the part of an error that is safe to show: the HTTP status. The full text may contain an
// address.
func shownFailure(err error) string {
	if found := statusInText().FindStringSubmatch(err.Error()); found != nil {
		return "the service answered " + found[1]
	}
	return "the service could not be reached, or it did not take the message"
}

// bounded limits how much of each answer is read.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxRead), response.Body}
	}
	return response, err
}
