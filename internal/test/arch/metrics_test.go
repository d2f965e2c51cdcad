package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestEveryMetricIsFed(t *testing.T) { report(t, unfedMetrics(sources(t))) }

// feeds are the methods and functions by which a metric gets a value.
var feeds = map[string]bool{
	"Inc": true, "Dec": true, "Add": true, "Sub": true, "Set": true, "Observe": true, "SetToCurrentTime": true,
	"WithLabelValues": true, "With": true, "GetMetricWith": true, "MustNewConstMetric": true, "NewConstMetric": true,
}

// unfedMetrics lists the metrics in a field that no call feeds. A field with a function for others to call counts as
// fed where it is passed on.
func unfedMetrics(all []*source) (faults []string) {
	fed := map[string]bool{}
	for _, s := range all {
		if !s.test {
			ast.Inspect(s.ast, func(node ast.Node) bool {
				collectFed(node, fed)
				return true
			})
		}
	}
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			field, named := pair.Key.(*ast.Ident)
			if name := metricIn(pair.Value); named && name != "" && !fed[field.Name] {
				faults = append(faults, fmt.Sprintf("%s: nothing feeds %s", s.at(pair), name))
			}
			return true
		})
	}
	return faults
}

// collectFed adds the names of the fields that a node feeds: x.field.Inc(), MustNewConstMetric(x.field, …),
// send(x.field, …) in a collector, {x.field: values}, Other: x.field.
func collectFed(node ast.Node, fed map[string]bool) {
	add := func(value ast.Expr) {
		if field, ok := value.(*ast.SelectorExpr); ok {
			fed[field.Sel.Name] = true
		}
	}
	switch node := node.(type) {
	case *ast.CallExpr:
		if called, ok := node.Fun.(*ast.Ident); ok && called.Name == "send" && len(node.Args) > 0 {
			add(node.Args[0])
		}
		if called, ok := node.Fun.(*ast.SelectorExpr); ok && feeds[called.Sel.Name] {
			add(called.X)
			for _, argument := range node.Args {
				add(argument)
			}
		}
	case *ast.KeyValueExpr:
		add(node.Key)
		add(node.Value)
	}
}

// metricIn returns the name of the metric that a call makes, if it makes one.
func metricIn(value ast.Expr) (name string) {
	if _, call := value.(*ast.CallExpr); !call {
		return ""
	}
	ast.Inspect(value, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && name == "" {
			if text, err := strconv.Unquote(literal.Value); err == nil && metricName.MatchString(text) {
				name = text
			}
		}
		return true
	})
	return name
}

// TestEveryMetricOfTheSeedsIsMapped: the page of metrics names the metric for each one of the seeds. Other tests check
// that these metrics exist.
func TestEveryMetricOfTheSeedsIsMapped(t *testing.T) {
	ours := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\| ([^|]*) \\|$").FindAllStringSubmatch(readPage(t, "docs/operate/metrics.md"), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			ours[strings.Trim(name, "`")] = row[2]
		}
	}
	for _, name := range []string{
		"watch_loop_iterations", "changes_detected", "events_published", "cache_hit_ratio", "average_poll_duration",
		"reconciliations_total", "reconciliations_successful", "reconciliations_failed", "reconciliations_requeued",
		"average_reconciliation_time",
		"scheduler_loop_iterations", "resources_processed", "state_transitions", "cleanup_operations",
		"average_loop_duration",
		"reconciliation_duration_seconds", "reconciliation_cycles_total",
	} {
		if !strings.Contains(ours[name], "`tend_"+name) {
			t.Errorf("docs/operate/metrics.md says %q of %s", ours[name], name)
		}
	}
}
