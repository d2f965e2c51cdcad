package verbs

import (
	"context"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
)

// maxTrafficMessage bounds the message of a maintenance, because it is stored in a stamp.
const maxTrafficMessage = 500

type maintenanceInput struct {
	Message string "query:\"message\" flag:\"message\" help:\"`TEXT` that is answered, one line (default \\\"under maintenance\\\")\""
}

// The three verbs set what happens to an ingress's requests. It holds until the next of them; an apply doesn't change
// it.
var (
	_ = Declare(traffic("resume", "Let the requests of an ingress through", "let requests through again",
		"requests are let through", ""), sets[struct{}](""))
	_ = Declare(traffic("pause", "Have the requests of an ingress wait",
		"have requests wait, up to 10 s each, until resumed",
		"requests wait", ""), sets[struct{}](api.TrafficPaused))
	_ = Declare(traffic("maintenance", "Answer the requests of an ingress with 503 and a message",
		"answer requests with 503 and a message", "requests are answered with 503", ` --message "back at noon"`),
		func(ctx context.Context, s *Service, r Request[maintenanceInput]) (api.VerbResult, error) {
			if err := checkTraffic(r.In.Message); err != nil {
				return api.VerbResult{}, err
			}
			return sets[maintenanceInput](strings.TrimSuffix(api.TrafficMaintenance+":"+r.In.Message, ":"))(ctx, s, r)
		})
)

func traffic(name, summary, short, done, example string) verb.Verb {
	return verb.Verb{
		Name: name, Summary: summary, Rule: access.Deployers("ingress"), Kind: api.KindIngress,
		Commands: []verb.Command{{
			Path: "ingress " + name, Use: "SCOPE/NAME", Short: short,
			Example: "  tend ingress " + name + " prod/web" + example,
			Another: "is not an ingress: `tend get ingress` lists them",
			Says: func(ref api.Ref, _, _ any) []verb.Line {
				return []verb.Line{{Name: ref.String(), Text: fmt.Sprintf("%s: %s", ref, done)}}
			},
		}},
	}
}

// sets carries out a verb that sets the stamp of what happens to requests. Without a stamp they are served.
func sets[In any](stamp string) func(context.Context, *Service, Request[In]) (api.VerbResult, error) {
	fits := Fits{Kind: api.KindIngress, Not: "serves no requests of its own", Next: "name an ingress"}
	return Decided(fits, "traffic", func(a Asked[In]) (*Decision[api.VerbResult], error) {
		return a.Stamped("traffic", func(stamps map[string]string) {
			if delete(stamps, api.StampTraffic); stamp != "" {
				stamps[api.StampTraffic] = stamp
			}
		}), nil
	})
}

func checkTraffic(message string) error {
	switch {
	case len(message) > maxTrafficMessage:
		return invalid("shorten it", "the message is longer than %d bytes", maxTrafficMessage)
	case strings.ContainsFunc(message, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid("leave control characters out", "the message is not one line of text")
	}
	return nil
}
