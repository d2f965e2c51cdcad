package otlpcheck

import (
	"context"
	"net"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// receiver is the collector's OTLP receiver on loopback.
type receiver struct {
	url  string
	sink consumertest.TracesSink
}

func listen(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	address := free(t)
	r.url = "http://" + address
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	settings := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	receiving, err := factory.CreateTraces(context.Background(),
		receivertest.NewNopSettings(factory.Type()), config, &r.sink)
	if err == nil {
		err = receiving.Start(context.Background(), componenttest.NewNopHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = receiving.Shutdown(context.Background()) })
	return r
}

// free returns an address on loopback that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// span is a received span, with the process that sent it.
type span struct {
	ptrace.Span
	service string
}

// spans returns all spans that arrived, by id.
func (r *receiver) spans() map[pcommon.SpanID]span {
	out := map[pcommon.SpanID]span{}
	for _, traces := range r.sink.AllTraces() {
		for _, resource := range traces.ResourceSpans().All() {
			service, _ := resource.Resource().Attributes().Get("service.name")
			for _, scope := range resource.ScopeSpans().All() {
				for _, one := range scope.Spans().All() {
					out[one.SpanID()] = span{one, service.Str()}
				}
			}
		}
	}
	return out
}

// path returns the spans from the root of a trace to one of its spans, each as service/name.
func path(all map[pcommon.SpanID]span, of span) string {
	names := []string{of.service + "/" + of.Name()}
	for at := of; !at.ParentSpanID().IsEmpty(); {
		parent, arrived := all[at.ParentSpanID()]
		if !arrived {
			return strings.Join(append([]string{at.ParentSpanID().String()}, names...), " > ")
		}
		if parent.TraceID() != at.TraceID() {
			names = append([]string{"another trace"}, names...)
		}
		at = parent
		names = append([]string{at.service + "/" + at.Name()}, names...)
	}
	return strings.Join(names, " > ")
}
