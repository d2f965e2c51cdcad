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

func (a *app) newBuildLogs(ctx context.Context, c *client.Client) *buildLogs {
	b := &buildLogs{client: c, out: verbatim(a.err), quiet: a.structured() || a.output == "name",
		following: map[api.Ref]bool{}}
	b.ctx, b.cancel = context.WithCancel(ctx)
	return b
}

// update begins to follow the builds that run now.
func (b *buildLogs) update(all []seen) {
	for _, s := range all {
		if s.build != "" && s.Reason == api.ReasonBuilding && !b.quiet && !b.following[s.Ref] {
			b.following[s.Ref] = true
			b.wait.Go(func() { b.follow(s.Ref, s.build) })
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

// lastWordsTime is the time for which stop waits for the rest of the output of builds that have ended.
const lastWordsTime = 2 * time.Second

// stop ends the output, after the rest of what ended builds printed.
func (b *buildLogs) stop() {
	timer := time.AfterFunc(lastWordsTime, b.cancel)
	defer timer.Stop()
	b.wait.Wait()
	b.cancel()
}
