package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// figure is one measurement; it may print several lines.
type figure struct {
	name string
	take func(ctx context.Context, l *harness) error
}

// figures are all figures in their order: first the one that finds the raw API's best parallelism.
var figures = []figure{
	{"deploy-20", deploy(20)},
	{"deploy-1", deploy(1)},
	{"deploy-5", deploy(5)},
	{"deploy-50", deploy(50)},
	{"scale", scale(5, 20)},
	{"replace-5", replaceAll(5)},
	{"replace-20", replaceAll(20)},
	{"roll-5", replaceSerially(5)},
	{"heal", heal},
	{"stats-100", statsOf(100)},
	{"probes-1000", probes(1000)},
	{"ingress", ingressFigures},
	{"ingress-rollout", ingressRollouts},
	{"swarm", swarmFigures},
	{"plan", plans},
	{"schedules", schedules},
	{"watch", watches},
	{"boot", boot},
	{"failover", failover},
	{"idle", idle},
	{"binary", binarySize},
}

func names() []string {
	out := make([]string, len(figures))
	for i, f := range figures {
		out[i] = f.name
	}
	return out
}

// choose returns the named figures; without names all of them.
func choose(only []string) ([]figure, error) {
	if len(only) == 0 {
		return figures, nil
	}
	for _, name := range only {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("unknown figure %q: want some of %s", name, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(figures), func(f figure) bool { return !slices.Contains(only, f.name) }), nil
}
