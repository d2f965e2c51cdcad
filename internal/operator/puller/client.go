package puller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tend.dev/tend/api/pull"
)

// The timeouts of requests, and the bound of an answer. A request that takes longer than its timeout, beyond the time
// it asked to wait, counts as unanswered: the connection may be cut.
const (
	requestTime = 30 * time.Second
	answerTime  = 10 * time.Second
	maxAnswer   = 16 << 20
)

// StatusError is an error answer of the control plane.
type StatusError struct {
	Status int
	Body   pull.Error
	// RetryAfter is the wait that the server asks for; zero if it doesn't.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	if e.Body.Code == "" {
		return fmt.Sprintf("the control plane answered %d", e.Status)
	}
	return fmt.Sprintf("the control plane answered %d %s: %s", e.Status, e.Body.Code, e.Body.Message)
}

// statusOf returns the HTTP status of an error answer, or 0 if there was no answer.
func statusOf(err error) int {
	if answered, ok := errors.AsType[*StatusError](err); ok {
		return answered.Status
	}
	return 0
}

// Client makes the requests of the protocol.
type Client struct {
	// Endpoint is the URL of the control plane, without a path.
	Endpoint string
	// HTTP trusts the control plane's certificate. It has no timeout of its own: a request for jobs may take minutes.
	HTTP *http.Client
	// UserAgent is the User-Agent of requests.
	UserAgent string
}

// Register exchanges a registration token for a credential.
func (c *Client) Register(ctx context.Context, token, cluster, displayName string) (pull.Credential, error) {
	var given pull.Credential
	err := c.call(ctx, token, requestTime, http.MethodPost, pull.RegisterPath, pull.Registration{
		RegistrationToken: token, ClusterID: cluster, DisplayName: displayName,
	}, &given)
	if err == nil && (given.Token == "" || given.ClusterID == "") {
		err = errors.New("the control plane's answer to the registration has no token or no cluster")
	}
	return given, err
}

// Jobs requests jobs and queries, and waits for some to appear. With resume it also requests acknowledged jobs that
// have no result.
func (c *Client) Jobs(ctx context.Context, token, cluster string, wait time.Duration, resume bool) (pull.Jobs, error) {
	var jobs pull.Jobs
	query := url.Values{"cluster": {cluster}, "wait": {strconv.Itoa(int(wait / time.Second))}}
	if resume {
		query.Set(pull.ResumeParameter, "true")
	}
	err := c.call(ctx, token, wait+answerTime, http.MethodGet, pull.JobsPath+"?"+query.Encode(), nil, &jobs)
	return jobs, err
}

// Delivered returns finished jobs after the one with the id after. At the end it returns none.
func (c *Client) Delivered(ctx context.Context, token, cluster, after string) ([]pull.Job, error) {
	var jobs pull.Jobs
	query := url.Values{"cluster": {cluster}, pull.AfterParameter: {after}}
	err := c.call(ctx, token, requestTime, http.MethodGet, pull.DeliveredPath+"?"+query.Encode(), nil, &jobs)
	return jobs.Jobs, err
}

// Acknowledge acknowledges a job.
func (c *Client) Acknowledge(ctx context.Context, token, job string) error {
	return c.call(ctx, token, requestTime, http.MethodPost, jobPath(job, "ack"), nil, nil)
}

// Status reports the progress of a job.
func (c *Client) Status(ctx context.Context, token, job string, status pull.Status) error {
	return c.call(ctx, token, requestTime, http.MethodPost, jobPath(job, "status"), status, nil)
}

// Result reports the result of a job.
func (c *Client) Result(ctx context.Context, token, job string, result pull.Result) error {
	return c.call(ctx, token, requestTime, http.MethodPost, jobPath(job, "result"), result, nil)
}

// Events sends a batch of events.
func (c *Client) Events(ctx context.Context, token string, events []pull.Event) error {
	return c.call(ctx, token, requestTime, http.MethodPost, pull.EventsPath, pull.Events{Events: events}, nil)
}

// Answer sends the answer to a query.
func (c *Client) Answer(ctx context.Context, token, query string, answer pull.Answer) error {
	path := pull.QueriesPath + "/" + url.PathEscape(query) + "/answer"
	return c.call(ctx, token, requestTime, http.MethodPost, path, answer, nil)
}

// Rotate returns a new credential. The old one stays valid for pull.RotationGrace.
func (c *Client) Rotate(ctx context.Context, token string) (pull.Credential, error) {
	var given pull.Credential
	err := c.call(ctx, token, requestTime, http.MethodPost, pull.RotatePath, struct{}{}, &given)
	if err == nil && given.Token == "" {
		err = errors.New("the control plane's answer to the rotation has no token")
	}
	return given, err
}

func jobPath(job, what string) string {
	return pull.JobsPath + "/" + url.PathEscape(job) + "/" + what
}

func (c *Client) call(
	ctx context.Context, token string, within time.Duration, method, path string, body, out any,
) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Endpoint+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", pull.MediaType)
	request.Header.Set("User-Agent", c.UserAgent)
	if body != nil {
		request.Header.Set("Content-Type", pull.MediaType)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text := io.LimitReader(response.Body, maxAnswer)
	if response.StatusCode >= http.StatusMultipleChoices {
		failed := &StatusError{Status: response.StatusCode}
		_ = json.NewDecoder(text).Decode(&failed.Body) // the answer of a proxy has another body
		if n, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && n >= 0 {
			failed.RetryAfter = time.Duration(n) * time.Second
		}
		return failed
	}
	if out == nil {
		_, err = io.Copy(io.Discard, text)
		return err
	}
	return json.NewDecoder(text).Decode(out)
}
