package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// buildLogs prints the output of the builds of waited-for objects as it comes. Each line begins with the object's name.
type buildLogs struct {
	client *client.Client
	out    io.Writer
	ctx    context.Context
	cancel context.CancelFunc
	// quiet: the output is for programs, so print no builds.
	quiet bool
	mu    sync.Mutex // of out
	// following are the builds whose output is, or was, printed.
	following map[api.Ref]bool
	wait      sync.WaitGroup
}

// reasonBuilding is the reason of a condition while an image is being built.
const reasonBuilding = "Building"

func (a *app) newBuildLogs(ctx context.Context, c *client.Client) *buildLogs {
	b := &buildLogs{client: c, out: a.err, quiet: a.structured() || a.output == "name", following: map[api.Ref]bool{}}
	b.ctx, b.cancel = context.WithCancel(ctx)
	return b
}

// update begins to follow the builds that run now.
func (b *buildLogs) update(looks []seen) {
	for _, s := range looks {
		if s.build != "" && s.reason == reasonBuilding && !b.quiet && !b.following[s.ref] {
			b.following[s.ref] = true
			b.wait.Go(func() { b.follow(s.ref, s.build) })
		}
	}
}

func (b *buildLogs) follow(ref api.Ref, build string) {
	stream, err := b.client.BuildLog(b.ctx, ref.Scope, ref.Name, build, true)
	if err != nil {
		return // the object's status reports how the build ends
	}
	defer stream.Close()
	for {
		line, err := stream.Next()
		if err != nil {
			return
		}
		b.mu.Lock()
		fmt.Fprintf(b.out, "%s/%s | %s\n", ref.Scope, ref.Name, printable(line, ""))
		b.mu.Unlock()
	}
}

// lastWordsTime is how long stop waits for the rest of the output of builds that have ended.
const lastWordsTime = 2 * time.Second

// stop ends the output, after the rest of what ended builds printed.
func (b *buildLogs) stop() {
	timer := time.AfterFunc(lastWordsTime, b.cancel)
	defer timer.Stop()
	b.wait.Wait()
	b.cancel()
}

// judgeBuild makes the object of a job wait for its image: a failed build should be known before the job is to run.
func (s *seen) judgeBuild(ready, progressing *api.Condition) {
	switch {
	case s.build == "" || ready == nil || progressing == nil:
	case progressing.Status == api.ConditionTrue:
		s.outcome, s.reason, s.message = pending, progressing.Reason, progressing.Message
	case ready.Status == api.ConditionFalse:
		s.outcome, s.reason, s.message = failed, ready.Reason, ready.Message
	}
}
