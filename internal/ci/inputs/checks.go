package main

// check describes the inputs of a target of the Makefile.
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
	// The test runs the whole binary; its inputs are the packages that make, carry and export spans.
	"test-otlp": {packages: []string{"./internal/observe/tracing", "./internal/observe/telemetry/..."},
		paths: []string{"tools/otlpcheck"}},
	// The inputs of a generated client: the routes and the types of their bodies; and a page with an example.
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
