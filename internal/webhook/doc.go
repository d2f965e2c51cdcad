// Package webhook makes the HTTP calls of webhooks.
//
// It decides nothing about them: what is sent, what an answer means and when to try again is internal/core/webhook's. It
// follows a redirect only where the same request goes to the same host again (307, 308), reads no more of an answer than
// it needs to use the connection again, and says of an address only its host: the rest may be a secret.
package webhook
