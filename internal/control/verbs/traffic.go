package verbs

import (
	"context"
	"maps"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// maxTrafficMessage bounds the message of a maintenance, because it is stored in a stamp.
const maxTrafficMessage = 500

// SetTraffic sets what happens to an ingress's requests: served (an empty mode), api.TrafficPaused, or
// api.TrafficMaintenance with a message. It holds until the next SetTraffic; an apply doesn't change it.
func (s *Service) SetTraffic(ctx context.Context, target Target, mode, message, actor string) (api.VerbResult, error) {
	if err := checkTraffic(mode, message); err != nil {
		return api.VerbResult{}, err
	}
	return s.verb(ctx, "traffic", FieldManager{Actor: actor}, func(snap records.Snapshot) (*verbDecision, error) {
		if target.Kind == "" {
			target.Kind = api.KindIngress
		}
		object, err := target.findLive(snap)
		if err != nil {
			return nil, err
		}
		if object.Value.Kind != api.KindIngress {
			return nil, invalid("name an ingress", "%s serves no requests of its own", object.Value.Ref())
		}
		next := *object.Value
		next.Metadata.Stamps = maps.Clone(next.Metadata.Stamps)
		if next.Metadata.Stamps == nil {
			next.Metadata.Stamps = map[string]string{}
		}
		delete(next.Metadata.Stamps, api.StampTraffic)
		if mode != "" {
			next.Metadata.Stamps[api.StampTraffic] = strings.TrimSuffix(mode+":"+message, ":")
		}
		decided := unchanged("traffic", object)
		if !maps.Equal(object.Value.Metadata.Stamps, next.Metadata.Stamps) {
			decided.write(object, next, s.opts.Now())
		}
		return decided, nil
	})
}

func checkTraffic(mode, message string) error {
	switch {
	case mode != "" && mode != api.TrafficPaused && mode != api.TrafficMaintenance:
		return invalid("pause, resume or maintenance", "%q is nothing that becomes of requests", mode)
	case message != "" && mode != api.TrafficMaintenance:
		return invalid("leave the message out", "only a maintenance answers with a message")
	case len(message) > maxTrafficMessage:
		return invalid("shorten it", "the message is longer than %d bytes", maxTrafficMessage)
	case strings.ContainsFunc(message, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid("leave control characters out", "the message is not one line of text")
	}
	return nil
}
