// Command typescript generates a TypeScript client from the server's OpenAPI document: one file without dependencies,
// with a type for each schema and a class with a method for each operation.
//
//	typescript < openapi.json > client.ts
//
// The document is parsed into a small model (model.go), and the model is printed. The same document gives the same
// text. The parser knows the part of OpenAPI 3.1 that Tend's document uses. It reports everything else with its JSON
// pointer, and then prints nothing: no part of a document ever becomes the type any.
//
// What each client has in common, the calls by fetch and the errors, is in runtime.ts.
package main
