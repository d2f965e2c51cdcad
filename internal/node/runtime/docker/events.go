package docker

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// eventBacklog is the number of events buffered for a reader before the engine has to wait.
const eventBacklog = 256

var containerEvents = map[events.Action]runtime.EventKind{
	events.ActionCreate:  runtime.EventCreate,
	events.ActionStart:   runtime.EventStart,
	events.ActionDie:     runtime.EventDie,
	events.ActionKill:    runtime.EventKill,
	events.ActionStop:    runtime.EventStop,
	events.ActionOOM:     runtime.EventOOM,
	events.ActionDestroy: runtime.EventDestroy,
	events.ActionPause:   runtime.EventPause,
	events.ActionUnPause: runtime.EventUnpause,
}

var imageEvents = []events.Action{
	events.ActionTag, events.ActionUnTag, events.ActionPull, events.ActionLoad, events.ActionImport, events.ActionDelete,
}

// Events listens to one stream of the engine. The stream's filters can't express "this label, or an image", so Events
// drops other clusters' containers itself.
//
// A stop through the engine is a kill, a die and a stop; a kill through it is a kill and a die; an end by itself (or by
// a signal sent past the engine) is only a die.
func (r *Runtime) Events(ctx context.Context) (<-chan runtime.Event, error) {
	if _, err := r.client.Ping(ctx, client.PingOptions{}); err != nil {
		return nil, r.fault("listen to events", err)
	}
	filters := make(client.Filters).Add("type", string(events.ContainerEventType), string(events.ImageEventType))
	for action := range containerEvents {
		filters.Add("event", string(action))
	}
	for _, action := range imageEvents {
		filters.Add("event", string(action))
	}
	ctx, cancel := context.WithCancel(ctx)
	stream := r.client.Events(ctx, client.EventsListOptions{Filters: filters})
	out := make(chan runtime.Event, eventBacklog)
	recovery.Go(func() {
		defer close(out)
		defer cancel()
		r.forward(ctx, stream, out)
	})
	return out, nil
}

// forward ends with the stream. Its error means only that the reader has to list again.
func (r *Runtime) forward(ctx context.Context, stream client.EventsResult, out chan<- runtime.Event) {
	for {
		select {
		case message := <-stream.Messages:
			event, ours := r.readEvent(message)
			if !ours {
				continue
			}
			select {
			case out <- event:
			case <-ctx.Done():
				return
			}
		case err := <-stream.Err:
			if ctx.Err() == nil {
				r.log.WarnContext(ctx, "the engine's events ended", "error", err)
			}
			return
		}
	}
}

// readEvent translates a message into an event, and reports whether it concerns this cluster.
func (r *Runtime) readEvent(message events.Message) (runtime.Event, bool) {
	attributes := message.Actor.Attributes
	at := time.Unix(0, message.TimeNano)
	if message.Type == events.ImageEventType {
		return runtime.Event{Kind: runtime.EventImage, Image: imageOf(message.Actor), At: at}, true
	}
	kind, known := containerEvents[message.Action]
	if !known || attributes[api.LabelCluster] != r.options.Cluster {
		return runtime.Event{}, false
	}
	event := runtime.Event{
		Kind: kind, Container: message.Actor.ID, Name: attributes["name"], Task: attributes[api.LabelTask],
		Signal: signalName(attributes["signal"]), At: at,
	}
	if code, err := strconv.Atoi(attributes["exitCode"]); err == nil {
		event.ExitCode = code
	}
	switch kind {
	case runtime.EventCreate, runtime.EventStart:
		r.owned.add(event.Container, event.Name)
	case runtime.EventDestroy:
		r.owned.drop(event.Container)
	}
	return event, true
}

// imageOf returns the reference that an image event concerns. A pull has the reference as id, and a name that lacks the
// tag; a tag has the image as id and the reference as name; a removal has only the image.
func imageOf(actor events.Actor) string {
	if strings.HasPrefix(actor.ID, "sha256:") {
		return first(actor.Attributes["name"], actor.ID)
	}
	return actor.ID
}

// signalName turns the engine's number into a name; other text stays as it is.
func signalName(text string) string {
	number, err := strconv.Atoi(text)
	if err != nil {
		return text
	}
	return first(unix.SignalName(unix.Signal(number)), text)
}
