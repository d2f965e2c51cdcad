// Package suggest says which of the known names a user probably meant. Every place where people type a name asks here:
// manifests, commands, addresses and the answers of the server.
//
//	if hint := suggest.Question("imagee", fields); hint != "" { … } // did you mean "image"?
//
// No other package words such a question: Question and Among find what was meant, Ask and Behind are given it.
//
// It knows no object's content, and it offers what it is given: the caller leaves out what the asker may not know of.
package suggest
