package sink

import (
	"context"
	"encoding/json"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/notify"
	core "tend.dev/tend/internal/core/sink"
)

// TestType is the type of the event that a test sends.
const TestType = "sink.test"

// maxTest bounds a test, below the time in which an API call is answered.
const maxTest = 25 * time.Second

// Test makes one attempt to send something that says it is a test, whatever the filter chooses.
func Test(ctx context.Context, sender *Sender, object api.Object) (api.SinkTest, error) {
	spec, err := api.DecodeSpec[api.SinkSpec](object)
	if err != nil {
		return api.SinkTest{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTest)
	defer cancel()
	began := time.Now()
	outcome, receiver := sender.Attempt(ctx, object.Ref(), spec,
		testContent(object, spec, sender.source, sender.deps.Now()))
	return api.SinkTest{
		Sink: object.Name, Type: spec.Type(), Receiver: receiver,
		Delivered: core.Judge(outcome.Answer) == core.Delivered, Answer: core.Text(outcome.Answer),
		Took: time.Since(began).Milliseconds(),
	}, nil
}

func testContent(object api.Object, spec api.SinkSpec, source string, now time.Time) core.Content {
	const message = "this is a test of the sink: nothing failed"
	id := "test-" + control.RandomHex(8)
	if spec.People() {
		return core.Content{Message: &notify.Message{ID: id, Test: "sink " + object.Name, Failed: []api.SinkCause{{
			UID: object.Metadata.UID, Kind: object.Kind, Scope: object.Scope, Name: object.Name, Reason: "Test",
			Message: message, ID: id, Since: now, Count: 1,
		}}}}
	}
	data, _ := json.Marshal(api.EventData{UID: object.Metadata.UID, Kind: object.Kind, Scope: object.Scope,
		Name: object.Name, Message: message})
	return core.Content{Event: &api.Event{
		SpecVersion: api.EventSpecVersion, ID: id, Source: source, Type: TestType,
		Subject: object.Scope + "/" + object.Name, Time: now.UTC(),
		DataContentType: "application/json", Data: data,
	}}
}
