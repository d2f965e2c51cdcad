package puller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
)

// Options configure an Agent. Endpoint, HTTP, Applier, Credentials and Keys are required.
type Options struct {
	// Endpoint is the URL of the control plane, without a path.
	Endpoint string
	// HTTP trusts the control plane's certificate and has no timeout of its own.
	HTTP        *http.Client
	Applier     Applier
	Credentials Credentials
	Keys        *Keys
	// Wait is the time that a request for jobs waits for one to appear. Default pull.DefaultWait.
	Wait time.Duration
	// ReadyTime is the time that an instance has to become ready; after it, its job has failed. Default 10 minutes.
	ReadyTime time.Duration
	// Health is called when the state of the connection changes, one call at a time. Default: not called.
	Health func(Health)
	// Verify returns an error if a job must not be done: it is not from the control plane, or too old. Default: accepts
	// all.
	Verify func(ctx context.Context, job pull.Job) error
	// Query answers a query, and refuses one that isn't the control plane's. It returns when ctx ends. Default: no query
	// is answered.
	Query func(ctx context.Context, query pull.Query) pull.Answer
	// Overflowed is called if events were dropped, once the remaining ones have been sent: the control plane lacks some.
	// Default: not called.
	Overflowed func()
	// Taken is called with each acknowledged job, Finished with the outcome of each job whose result was received. They
	// may be called concurrently. Default: not called.
	Taken    func(job pull.Job)
	Finished func(job pull.Job, outcome string)
	// UserAgent is the User-Agent of requests. Default tend-operator.
	UserAgent string
	// Now is the clock. Jitter returns a number from 0 to below 1. Default: time.Now and a random number.
	Now    func() time.Time
	Jitter func() float64
	Logger *slog.Logger
}

// Puller does the jobs of one cluster. Create it with New. Only one process of a cluster may run one at a time.
type Puller struct {
	Options
	client  *Client
	buffer  *buffer
	intents *intents
	queries *queries

	mu         sync.Mutex
	credential pull.Credential
	tracked    []*tracked
	// moved holds a token if a resource may have changed.
	moved chan struct{}

	// reporting is held during a call of Health, so that the last call reports the last state.
	reporting sync.Mutex
	health    Health
}

// New returns an Agent. It does nothing before Run.
func New(o Options) *Puller {
	if o.Wait <= 0 {
		o.Wait = pull.DefaultWait
	}
	if o.ReadyTime <= 0 {
		o.ReadyTime = 10 * time.Minute
	}
	o.UserAgent = cmp.Or(o.UserAgent, "tend-operator")
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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Puller{
		Options: o, client: &Client{Endpoint: o.Endpoint, HTTP: o.HTTP, UserAgent: o.UserAgent}, buffer: newBuffer(),
		intents: newIntents(), queries: newQueries(), moved: make(chan struct{}, 1),
	}
}

// Run does jobs and sends events until ctx ends, and then returns nil. It returns ErrUnauthorized or ErrForbidden if
// the control plane permanently refuses the puller.
func (p *Puller) Run(ctx context.Context) error {
	if _, err := p.load(ctx); err != nil {
		return err
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	all := []func(context.Context) error{p.pollJobs, p.trackReady, p.compareAll, p.sendEvents}
	if p.Query != nil {
		for range answering {
			all = append(all, p.answerQueries)
		}
	}
	for _, part := range all {
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

// load reads the stored credential.
func (p *Puller) load(ctx context.Context) (pull.Credential, error) {
	credential, err := p.Credentials.Load(ctx)
	if err != nil {
		return pull.Credential{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.credential = credential
	return credential, nil
}

func (p *Puller) current() pull.Credential {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.credential
}

// Register exchanges a registration token for a credential, and stores it.
func (p *Puller) Register(ctx context.Context, token, cluster, displayName string) (pull.Credential, error) {
	given, err := p.client.Register(ctx, token, cluster, displayName)
	if err != nil {
		return given, err
	}
	return given, p.keep(ctx, given)
}

// Rotate exchanges the credential for a new one, and stores it. The old one stays valid for a day, so a failure loses
// nothing.
func (p *Puller) Rotate(ctx context.Context) error {
	var given pull.Credential
	err := p.request(ctx, func(token string) (err error) { given, err = p.client.Rotate(ctx, token); return err })
	if err != nil {
		return err
	}
	if given.ClusterID == "" {
		given.ClusterID = p.current().ClusterID
	}
	return p.keep(ctx, given)
}

func (p *Puller) keep(ctx context.Context, credential pull.Credential) error {
	if err := p.Credentials.Save(ctx, credential); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.credential = credential
	return nil
}

// request makes a request with the current token. If the token is refused and another one was stored meanwhile, it
// tries once more.
func (p *Puller) request(ctx context.Context, do func(token string) error) error {
	token := p.current().Token
	err := do(token)
	if statusOf(err) == http.StatusUnauthorized {
		if fresh, failed := p.load(ctx); failed == nil && fresh.Token != token {
			err = do(fresh.Token)
		}
	}
	switch status := statusOf(err); {
	case status == http.StatusUnauthorized:
		p.report(Health{Connected: true, Reason: err.Error()})
		return errors.Join(ErrUnauthorized, err)
	case status == http.StatusForbidden:
		p.report(Health{Connected: true, Reason: err.Error()})
		return errors.Join(ErrForbidden, err)
	case err == nil || status != 0 && status < http.StatusInternalServerError:
		p.report(Health{Connected: true, Authenticated: true}) // it is also there if it asks to wait
	case ctx.Err() == nil:
		p.report(Health{Authenticated: true, Reason: err.Error()})
	}
	return err
}

// isEnd reports whether an error ends the puller.
func isEnd(err error) bool { return errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) }

// report calls Health if the state of the connection has changed.
func (p *Puller) report(is Health) {
	p.reporting.Lock()
	defer p.reporting.Unlock()
	changed := is.Connected != p.health.Connected || is.Authenticated != p.health.Authenticated
	p.health = is
	if changed {
		p.Health(is)
	}
}
