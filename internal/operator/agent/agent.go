package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
)

// Options are the dependencies of an Agent. Endpoint, HTTP, Applier, Credentials and Keys are needed.
type Options struct {
	// Endpoint is the URL of the control plane, without a path.
	Endpoint string
	// HTTP trusts the control plane, and has no time limit of its own.
	HTTP        *http.Client
	Applier     Applier
	Credentials Credentials
	Keys        *Keys
	// Wait is how long a request for jobs waits for one. Default pull.DefaultWait.
	Wait time.Duration
	// ReadyTime is how long an instance may take to get ready. Then its job has failed. Default 10 minutes.
	ReadyTime time.Duration
	// Health is called when the state of the connection changes, one call at a time. Default: nobody asks.
	Health func(Health)
	// Verify returns why a job is not to be done: it is not the control plane's, or an old one. Default: all are done.
	Verify func(ctx context.Context, job pull.Job) error
	// Overflowed is called when events were dropped, and what was left has been sent: the control plane lacks some. Default: nobody
	// asks.
	Overflowed func()
	// Taken is called with each job that was acknowledged, Finished with the outcome of each whose result has been received. Both may be
	// called at the same time. Default: nobody counts.
	Taken    func(job pull.Job)
	Finished func(job pull.Job, outcome string)
	// UserAgent is how the operator calls itself. Default tend-operator.
	UserAgent string
	// Now is the clock, Jitter a number from 0 to below 1. Default: time.Now, and chance.
	Now    func() time.Time
	Jitter func() float64
	Logger *slog.Logger
}

// Agent does the jobs of one cluster. Create it with New. One process of a cluster may run one at a time.
type Agent struct {
	Options
	client  *Client
	buffer  *buffer
	intents *intents

	mu         sync.Mutex
	credential pull.Credential
	tracked    []*tracked
	// moved holds a token once a resource may have changed.
	moved chan struct{}

	// reporting is held while Health is called, so that the last call is about the last state.
	reporting sync.Mutex
	health    Health
}

// New returns an Agent; nothing happens before Run.
func New(o Options) *Agent {
	if o.Wait <= 0 {
		o.Wait = pull.DefaultWait
	}
	if o.ReadyTime <= 0 {
		o.ReadyTime = 10 * time.Minute
	}
	if o.UserAgent == "" {
		o.UserAgent = "tend-operator"
	}
	if o.Health == nil {
		o.Health = func(Health) {}
	}
	if o.Overflowed == nil {
		o.Overflowed = func() {}
	}
	if o.Finished == nil {
		o.Finished = func(pull.Job, string) {}
	}
	if o.Verify == nil {
		o.Verify = func(context.Context, pull.Job) error { return nil }
	}
	if o.Taken == nil {
		o.Taken = func(pull.Job) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Agent{Options: o, client: &Client{Endpoint: o.Endpoint, HTTP: o.HTTP, UserAgent: o.UserAgent}, buffer: newBuffer(), intents: newIntents(), moved: make(chan struct{}, 1)}
}

// Run does jobs and sends events until ctx ends; then it returns nil. It returns ErrUnauthorized or ErrForbidden if the control plane
// refuses it for good.
func (a *Agent) Run(ctx context.Context) error {
	if _, err := a.load(ctx); err != nil {
		return err
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{a.pollJobs, a.trackReady, a.compareAll, a.sendEvents} {
		parts.Go(func() {
			if err := part(inner); err != nil {
				stop(err)
			}
		})
	}
	parts.Wait()
	if cause := context.Cause(inner); ctx.Err() == nil && cause != nil {
		return cause
	}
	return nil
}

// load reads the credential as it is stored now.
func (a *Agent) load(ctx context.Context) (pull.Credential, error) {
	credential, err := a.Credentials.Load(ctx)
	if err != nil {
		return pull.Credential{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.credential = credential
	return credential, nil
}

func (a *Agent) current() pull.Credential {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.credential
}

// Register exchanges a registration token for a credential, and stores it.
func (a *Agent) Register(ctx context.Context, token, cluster, displayName string) (pull.Credential, error) {
	given, err := a.client.Register(ctx, token, cluster, displayName)
	if err != nil {
		return given, err
	}
	return given, a.keep(ctx, given)
}

// Rotate exchanges the credential for another, and stores it. The old one stays valid for a day, so nothing is lost if that fails.
func (a *Agent) Rotate(ctx context.Context) error {
	var given pull.Credential
	err := a.request(ctx, func(token string) (err error) { given, err = a.client.Rotate(ctx, token); return err })
	if err != nil {
		return err
	}
	if given.ClusterID == "" {
		given.ClusterID = a.current().ClusterID
	}
	return a.keep(ctx, given)
}

func (a *Agent) keep(ctx context.Context, credential pull.Credential) error {
	if err := a.Credentials.Save(ctx, credential); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.credential = credential
	return nil
}

// request makes a request with the current token. One that is refused is made again once, if another token is stored meanwhile.
func (a *Agent) request(ctx context.Context, do func(token string) error) error {
	token := a.current().Token
	err := do(token)
	if statusOf(err) == http.StatusUnauthorized {
		if fresh, failed := a.load(ctx); failed == nil && fresh.Token != token {
			err = do(fresh.Token)
		}
	}
	switch status := statusOf(err); {
	case err == nil || status == http.StatusNotFound || status == http.StatusConflict:
		a.report(Health{Connected: true, Authenticated: true})
	case status == http.StatusUnauthorized:
		a.report(Health{Connected: true, Reason: err.Error()})
		return errors.Join(ErrUnauthorized, err)
	case status == http.StatusForbidden:
		a.report(Health{Connected: true, Reason: err.Error()})
		return errors.Join(ErrForbidden, err)
	case ctx.Err() == nil:
		a.report(Health{Authenticated: true, Reason: err.Error()})
	}
	return err
}

// isEnd reports whether an error ends the agent.
func isEnd(err error) bool { return errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) }

// report hands on how the connection is, if that has changed.
func (a *Agent) report(is Health) {
	a.reporting.Lock()
	defer a.reporting.Unlock()
	changed := is.Connected != a.health.Connected || is.Authenticated != a.health.Authenticated
	a.health = is
	if changed {
		a.Health(is)
	}
}
