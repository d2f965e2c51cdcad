// Package apiclient tests that a client can be generated from the server's OpenAPI document: oapi-codegen makes one in
// Go, and a program that uses it compiles. The command in the folder typescript generates one in TypeScript. This is a
// module of its own, so that nothing of the generators gets into Tend.
package apiclient
