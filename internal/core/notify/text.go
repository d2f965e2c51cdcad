package notify

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// The bounds of a message: the causes that it lists, and the bytes of its parts.
const (
	maxListed  = 10
	maxText    = 8 << 10
	maxSubject = 200
)

const defaultText = `{{range .Failed}}{{.Object}} failed{{if .Reason}}: {{.Reason}}{{end}}{{if .OK}} (it recovered since){{end}}
{{if .Message}}  {{.Message}}
{{end}}  {{if .Release}}release {{.Release}}, {{end}}since {{.Since}}{{if gt .Count 1}}, {{.Count}} times{{end}}
  Next: {{.Next}}
{{end}}{{range .Resolved}}{{.Object}} recovered{{if .Reason}} from {{.Reason}}{{end}}, which began {{.Since}}
{{end}}{{if .More}}and {{.More}} more. Next: tend get all -A
{{end}}`

// Text returns the subject and the text of a message, by a sink's templates or the default ones.
func Text(m Message, by *api.SinkMessage) (subject, text string, err error) {
	if by == nil {
		by = &api.SinkMessage{}
	}
	data := dataOf(m)
	if subject, err = fill(by.Subject, "{{.Title}}", maxSubject, data); err != nil {
		return "", "", fmt.Errorf("message.subject: %w", err)
	}
	if text, err = fill(by.Template, defaultText, maxText, data); err != nil {
		return "", "", fmt.Errorf("message.template: %w", err)
	}
	subject = strings.Join(strings.Fields(subject), " ")
	if m.Test != "" {
		subject, text = marked(m, by, subject, text)
	}
	return subject, text, nil
}

// marked returns the subject and the text of a test, which say so whatever the templates say: an example of a failure
// must not be read as one.
func marked(m Message, by *api.SinkMessage, subject, text string) (marked, body string) {
	body = "This is a test of " + m.Test + ": nothing failed.\n"
	if by.Template != "" {
		body += "Its template, filled with an example:\n\n" + text
	}
	if by.Subject != "" {
		return "Test: " + subject, body
	}
	return subject, body
}

func fill(text, otherwise string, most int, data api.SinkMessageData) (string, error) {
	text = cmp.Or(text, otherwise)
	t, err := api.ParseSinkTemplate(text)
	if err != nil {
		return "", err
	}
	out := &bounded{most: most}
	if err := t.Execute(out, data); err != nil && !errors.Is(err, errFull) {
		return "", err
	}
	return strings.ToValidUTF8(out.String(), ""), nil
}

// bounded takes what fits and then stops the template.
type bounded struct {
	bytes.Buffer
	most int
}

var errFull = errors.New("the text is full")

func (b *bounded) Write(p []byte) (int, error) {
	if left := b.most - b.Len(); len(p) > left {
		n, _ := b.Buffer.Write(p[:left])
		return n, errFull
	}
	return b.Buffer.Write(p)
}

func dataOf(m Message) api.SinkMessageData {
	d := api.SinkMessageData{More: m.More, Title: title(m)}
	for _, c := range m.Failed[:min(len(m.Failed), maxListed)] {
		d.Failed = append(d.Failed, shown(c))
	}
	for _, c := range m.Resolved[:min(len(m.Resolved), maxListed)] {
		d.Resolved = append(d.Resolved, shown(c))
	}
	d.More += len(m.Failed) + len(m.Resolved) - len(d.Failed) - len(d.Resolved)
	switch {
	case len(d.Failed) > 0:
		d.SinkMessageCause = d.Failed[0]
	case len(d.Resolved) > 0:
		d.SinkMessageCause = d.Resolved[0]
	}
	return d
}

func shown(c api.SinkCause) api.SinkMessageCause {
	return api.SinkMessageCause{
		Object: object(c), Kind: string(c.Kind), Scope: c.Scope, Name: c.Name, Reason: c.Reason,
		Message: c.Message, Release: c.Release,
		Since: c.Since.UTC().Format("2006-01-02 15:04:05 UTC"), Count: c.Count, Next: "tend describe " + object(c),
		OK: !c.ResolvedAt.IsZero(),
	}
}

// object names the object of a cause as commands take it.
func object(c api.SinkCause) string {
	if c.Scope == api.Unscoped {
		return string(c.Kind) + " " + c.Name
	}
	return string(c.Kind) + " " + c.Scope + "/" + c.Name
}

// title returns the default subject.
func title(m Message) string {
	failed, recovered := len(m.Failed)+m.More, len(m.Resolved)
	switch {
	case m.Test != "":
		return "Test of " + m.Test + ": nothing failed"
	case failed == 1 && recovered == 0 && m.More == 0:
		return strings.TrimSuffix(object(m.Failed[0])+" failed: "+m.Failed[0].Reason, ": ")
	case failed == 0 && recovered == 1:
		return object(m.Resolved[0]) + " recovered"
	case recovered == 0:
		return fmt.Sprintf("%d objects failed", failed)
	case failed == 0:
		return fmt.Sprintf("%d objects recovered", recovered)
	}
	return fmt.Sprintf("%d objects failed, %d recovered", failed, recovered)
}
