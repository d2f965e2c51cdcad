package verbs

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
)

type availabilityInput struct {
	Availability   string `query:"availability" required:"true"`
	ForceConflicts bool   `query:"force_conflicts" flag:"force-conflicts" help:"also where the node's manifest says otherwise"`
}

type servesInput struct {
	Serves         bool `query:"serves" required:"true"`
	ForceConflicts bool `query:"force_conflicts" flag:"force-conflicts" help:"also where the node's manifest says otherwise"`
}

type downInput struct {
	DryRun bool `query:"dry_run"`
}

var (
	_ = Declare(verb.Verb{
		Name: "availability", Summary: "Say what a node takes: active, cordoned or drained",
		Rule: access.Admins("drain"),
		Kind: api.KindNode,
		Commands: []verb.Command{
			availabilityCommand("cordon", "let a node keep its pods and get no more", api.NodeCordoned,
				"%s is cordoned"),
			availabilityCommand("uncordon", "let a node take pods again", api.NodeActive, "%s takes pods again"),
		},
	}, func(ctx context.Context, s *Service, r Request[availabilityInput]) (api.VerbResult, error) {
		return s.SetAvailability(ctx, r.Target.Name, r.In.Availability,
			FieldManager{Actor: r.Actor, ForceConflicts: r.In.ForceConflicts})
	})
	_ = Declare(verb.Verb{
		Name: "ingress", Summary: "Say whether a node serves ingresses", Rule: access.Admins("nodes ingress"),
		Kind: api.KindNode,
		Commands: []verb.Command{{
			Path: "nodes ingress", Use: "NODE on|off", Short: "let a node serve ingresses, or no longer",
			Long: "Let a node serve ingresses, or no longer. A node that serves them holds the TLS keys of the hosts that ingresses declare;\n" +
				"one that doesn't gets none, and answers at ports of every node alone. The nodes of servers serve unless this says\n" +
				"otherwise, a machine that joins only if its token was made with --ingress.",
			Example: "  tend nodes ingress worker-1 on\n  tend nodes ingress worker-1 off",
			Rest:    1, Least: 1,
			Read: verb.Reads(func(_ string, rest []string, in *servesInput) error {
				if in.Serves = rest[0] == "on"; !in.Serves && rest[0] != "off" {
					return fmt.Errorf("%q: say on or off", rest[0])
				}
				return nil
			}),
			Says: func(ref api.Ref, input, _ any) []verb.Line {
				text := map[bool]string{true: "%s serves ingresses",
					false: "%s serves no ingresses"}[input.(*servesInput).Serves]
				return []verb.Line{{Name: ref.Name, Text: fmt.Sprintf(text, ref.Name)}}
			},
		}},
	}, func(ctx context.Context, s *Service, r Request[servesInput]) (api.VerbResult, error) {
		return s.SetIngress(ctx, r.Target.Name, r.In.Serves,
			FieldManager{Actor: r.Actor, ForceConflicts: r.In.ForceConflicts})
	})
	_ = Declare(verb.Verb{
		Name: "down", Summary: "Say that a silent node is off: its pods are replaced at once",
		Rule: access.Admins("nodes down"), Kind: api.KindNode,
	}, func(ctx context.Context, s *Service, r Request[downInput]) (api.NodeDownResult, error) {
		return s.NodeDown(ctx, r.Target.Name, ConfirmDown, r.In.DryRun, r.Actor)
	})
)

func availabilityCommand(path, short, availability, did string) verb.Command {
	return verb.Command{
		Path: path, Use: "NODE", Short: short, Example: "  tend " + path + " worker-1",
		Read: verb.Reads(func(_ string, _ []string, in *availabilityInput) error {
			in.Availability = availability
			return nil
		}),
		Says: func(ref api.Ref, _, _ any) []verb.Line {
			return []verb.Line{{Name: ref.Name, Text: fmt.Sprintf(did, ref.Name)}}
		},
	}
}
