// Package suggest says which of the known names a user probably meant. Every place where people type a name asks here:
// manifests, commands, addresses and the answers of the server.
//
//	if hint := suggest.Question("imagee", fields); hint != "" { … } // did you mean "image"?
//
// It knows no object's content, and it offers what it is given: the caller leaves out what the asker may not know of.
package suggest
