// Package webhook makes the HTTP calls of webhooks.
//
// It decides nothing about them: internal/core/webhook decides what is sent, what an answer means and when to retry. It
// follows a redirect only if the same request goes to the same host again (307, 308), reads no more of an answer than
// it needs to reuse the connection, and reports only the host of an address: the rest may be a secret.
package webhook
