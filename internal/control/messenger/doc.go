// Package messenger sends messages to people over SMTP and through the library shoutrrr.
//
// Package internal/core/sink decides what is sent and what an answer means. An attempt ends with its context, whatever
// the server does, and reads at most maxRead bytes from it.
package messenger
