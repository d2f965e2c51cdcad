package apiclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// user is a program as people write it with a generated client: it applies an object, lists objects, and reads an
// error's next step.
const user = `package main

import (
	"context"
	"fmt"
	"os"

	"tend.dev/tend/tools/apiclient/testdata/generated/tendapi"
)

func main() {
	client, err := tendapi.NewClientWithResponses("http://127.0.0.1:8686")
	if err != nil {
		panic(err)
	}
	yes := true
	var web tendapi.PostV1ApplyJSONRequestBody
	scope := "prod"
	manifest := tendapi.Manifest{Kind: "deployment", Scope: &scope, Name: "web", Spec: map[string]any{"image": "web:1"}}
	if err := web.FromManifest(manifest); err != nil {
		panic(err)
	}
	applied, err := client.PostV1ApplyWithResponse(context.Background(), &tendapi.PostV1ApplyParams{DryRun: &yes}, web)
	if err != nil {
		panic(err)
	}
	if problem := applied.ApplicationproblemJSON409; problem != nil {
		fmt.Fprintln(os.Stderr, *problem.Next)
	}
	for _, object := range *applied.JSON200.Objects {
		fmt.Println(object.Kind, object.Action)
	}
	pods, err := client.GetV1PodsWithResponse(context.Background(), &tendapi.GetV1PodsParams{})
	if err != nil || pods.JSON200 == nil {
		os.Exit(1)
	}
}
`

// TestAClientCompiles needs the document in OPENAPI: make test-openapi writes it.
func TestAClientCompiles(t *testing.T) {
	document := os.Getenv("OPENAPI")
	folder := filepath.Join("testdata", "generated")
	t.Cleanup(func() { _ = os.RemoveAll("testdata") })
	if err := os.MkdirAll(filepath.Join(folder, "tendapi"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "tendapi", "-o",
			filepath.Join(folder, "tendapi", "client.go"), document},
		{"go", "vet", "./" + filepath.ToSlash(folder) + "/..."},
	} {
		if output, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, output)
		}
	}
}
