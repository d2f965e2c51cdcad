// Command inputs decides whether a check must run again. Checks that build a large tree of dependencies (a Kubernetes
// API server, Helm, Prometheus) run only when what they test has changed: .ci/verified holds, for each, the digest of
// its inputs when it last passed. The Makefile asks before such a check and records after it has passed; a commit
// carries the record.
//
// The inputs of a check are the files of its paths, the files of its Go packages and of all packages of this module
// that they import, go.mod and go.sum, and the version of Go. Only files that git tracks or would add count, as they
// are in the work tree.
//
// Example:
//
//	go run ./internal/ci/inputs state test-helm   # prints changed or unchanged
//	go run ./internal/ci/inputs record test-helm
package main
