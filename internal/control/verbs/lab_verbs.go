package verbs

import (
	"context"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
)

type extendInput struct {
	For time.Duration `query:"for" required:"true"`
}

const notLab = "is not a lab: name one, or a class, as SCOPE/NAME"

var (
	_ = Declare(verb.Verb{
		Name: "extend", Summary: "Give a lab, or the labs of a class, more time", Rule: access.Deployers("lab extend"),
		Kind: api.KindLab,
		Commands: []verb.Command{{
			Path: "lab extend", Use: "SCOPE/NAME DURATION", Short: "give a lab, or the labs of a class, more time",
			Long:    "Add time to a lab, or to each lab of a class that has not ended. The whole time of a lab is at most 720h.",
			Example: "  tend lab extend school/linux-7 30m\n  tend lab extend school/linux 1h",
			Rest:    1, Least: 1, Another: notLab, Loose: true, Repeats: true, Read: verb.Reads(readExtension),
			Says: eachLab(func(in extendInput, changed api.LabChanged) string {
				if changed.EndsAt.IsZero() {
					return fmt.Sprintf("%s: %s more, %s in all", changed.Lab, in.For, changed.Extended)
				}
				return fmt.Sprintf("%s: %s more, ends at %s", changed.Lab, in.For,
					changed.EndsAt.Local().Format(time.RFC3339))
			}),
		}},
	}, func(ctx context.Context, s *Service, r Request[extendInput]) (api.LabResult, error) {
		return s.ExtendLabs(ctx, r.Target, r.In.For, r.Actor)
	})
	_ = Declare(verb.Verb{
		Name: "end", Summary: "End a lab, or the labs of a class, before their time is over",
		Rule: access.Deployers("lab stop"), Kind: api.KindLab,
		Commands: []verb.Command{{
			Path: "lab stop", Use: "SCOPE/NAME", Short: "end a lab, or the labs of a class, before their time is over",
			Long: "End a lab, or each lab of a class that has begun. It is COMPLETED, and nothing of it is left. One that has not begun\n" +
				"is deleted instead: tend delete.",
			Example: "  tend lab stop school/linux-7\n  tend lab stop school/linux",
			Another: notLab, Loose: true,
			Says: eachLab(func(_ struct{}, changed api.LabChanged) string { return changed.Lab.String() + ": stopped" }),
		}},
	}, plainly((*Service).StopLabs))
)

func readExtension(at string, rest []string, in *extendInput) (err error) {
	if len(rest) != 1 {
		return fmt.Errorf("say how much more: tend lab extend %s 30m", at)
	}
	if in.For, err = time.ParseDuration(rest[0]); err != nil {
		return fmt.Errorf("%q is not a duration such as 30m or 1h30m", rest[0])
	}
	return nil
}

// eachLab says something of each lab that was changed.
func eachLab[In any](say func(In, api.LabChanged) string) func(api.Ref, any, any) []verb.Line {
	return func(_ api.Ref, input, answer any) (lines []verb.Line) {
		for _, changed := range answer.(*api.LabResult).Labs {
			lines = append(lines, verb.Line{Name: changed.Lab.String(), Text: say(*input.(*In), changed)})
		}
		return lines
	}
}
