// Package messenger sends messages to people, over SMTP and by the library shoutrrr.
//
// It decides nothing about them: internal/core/sink says what is sent, and what an answer means. An attempt ends with its
// context, whatever the server does, and reads no more than maxRead of it.
package messenger
