package main

// check names what the result of a target of the Makefile depends on.
type check struct {
	packages []string // patterns of Go packages of this module
	tags     string   // build tags that packages are listed with
	paths    []string // files and folders, from the root of the repository
}

var checks = map[string]check{
	// What these two find is a function of the sources, and of the version of the tool.
	"lint":            {paths: []string{"*.go", ".golangci.yml", "go.mod", "go.sum", "tools/go.mod", "tools/go.sum"}},
	"cross":           {paths: []string{"*.go", "go.mod", "go.sum"}},
	"test-helm":       {paths: []string{"tools/helmrelease", "internal/operator/engine/testdata/helm"}},
	"test-monitoring": {paths: []string{"tools/promcheck", "deploy/prometheus", "deploy/grafana"}},
	// The story runs the whole binary; its inputs are what makes, carries and exports spans.
	"test-otlp": {packages: []string{"./internal/observe/tracing", "./internal/observe/telemetry/..."},
		paths: []string{"tools/otlpcheck"}},
	// What a client is generated from: the routes, and the types that they take and answer; and a page with an example.
	"test-openapi": {paths: []string{":(glob)internal/server/*.go", "api", "tools/apiclient", "docs/use/cli.md"}},
	"test-kube": {
		packages: []string{"./api/kube/...", "./internal/operator/...", "./cmd/tend-operator/..."}, tags: "kube",
		paths: []string{"tools/kube-apiserver", "tools/kubegen", "tools/kuberender", "deploy/operator",
			"deploy/operator-logs", "deploy/operator-health", "deploy/operator-webhooks"},
	},
	"tidy-tools": {paths: []string{
		"tools/go.mod", "tools/go.sum", "tools/promcheck", "tools/otlpcheck", "tools/helmrelease", "tools/kubegen",
		"tools/kuberender", "tools/kube-apiserver", "tools/nfpm", "tools/govulncheck", "tools/apiclient",
	}},
}
