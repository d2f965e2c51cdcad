// Package redact takes secrets out of what other programs say — git, a web server, a mail server — before it is shown:
// also where they answer with the secret in another form.
//
//	redact.Secrets("535 no: AHRlbmQAczNjcmV0", "s3cret") // 535 no: AHRlbmQxxxxx
//
// It doesn't know which texts are secret; its callers do.
package redact
