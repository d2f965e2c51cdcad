package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestDurationsOutliveASetClock: no idle time, pause or timeout depends on the wall clock, which may be set by hours.
func TestDurationsOutliveASetClock(t *testing.T) { report(t, wallDurations(sources(t))) }

// wallDurations finds durations between two readings of a process that were made numbers, without their monotonic
// part. A stored time, or that of a file, is compared by Sub.
func wallDurations(all []*source) (faults []string) {
	for _, s := range all {
		ast.Inspect(s.ast, func(node ast.Node) bool {
			wall := false
			switch n := node.(type) {
			case *ast.CallExpr:
				wall = (called(n) == "Since" || called(n) == "Until") && s.calls(n, "time") && unixTime(n.Args[0])
			case *ast.BinaryExpr:
				wall = n.Op == token.SUB && (unixTime(n.X) || unixTime(n.Y))
			}
			if wall && !s.test {
				faults = append(faults, fmt.Sprintf("%s measures by the wall clock: keep a time.Time, or the time since one",
					s.at(node)))
			}
			return true
		})
	}
	return faults
}

// unixTime reports whether an expression is a call such as time.Unix or now.UnixNano.
func unixTime(of ast.Expr) bool {
	call, ok := of.(*ast.CallExpr)
	return ok && strings.HasPrefix(called(call), "Unix")
}
