package sink

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/notify"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/core/webhook"
)

// Content is an event, or a message for people, to be sent.
type Content struct {
	Event   *api.Event
	Message *notify.Message
	// Source is the source of a message's events.
	Source string
	// To are the addresses that a mail is still to be sent to. Default: all of the sink.
	To []string
}

// ID returns the id of the content for its receivers.
func (c Content) ID() string {
	if c.Event != nil {
		return MessageID(c.Event.Source, c.Event.ID)
	}
	return MessageID(c.Source, "message "+c.Message.ID)
}

// Parcel goes to a target: one of its parts is set.
type Parcel struct {
	Request *webhook.Request
	Mail    *Mail
	Relay   *Relay
	Line    *api.Event
	// Timeout bounds the attempt.
	Timeout time.Duration
	// Receiver is the part of the address that may be shown.
	Receiver string
}

// Mail is a mail to send.
type Mail struct {
	Host, TLS, User, Password string
	Port                      int
	From                      string
	// To are addresses, each of which gets a mail of its own.
	To []string
	// ID is the part of the Message-ID before the @.
	ID, Subject, Text string
	At                time.Time
}

// Relay is a text for a service of shoutrrr. URL is a secret.
type Relay struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Confined: the receiver may not be on the caller's own machine or link.
	Confined bool `json:"-"`
}

// Builder makes parcels.
type Builder struct {
	Spec api.SinkSpec
	// Spaces resolve the references of the spec. The errors of Build contain none of their values.
	Spaces reference.Spaces
	// Confines reports whether one who isn't an admin decides a part of an address of the spec. Default: none does.
	Confines func(address string) bool
	// Agent is the User-Agent.
	Agent string
	Now   time.Time
}

func (b Builder) confines(address string) bool { return b.Confines != nil && b.Confines(address) }

// MailTime limits one attempt to send a mail.
const MailTime = 30 * time.Second

// Build returns the parcel of a content.
func (b Builder) Build(c Content) (Parcel, error) {
	switch s := b.Spec; {
	case s.HTTP != nil && c.Event != nil:
		return b.event(*s.HTTP, c)
	case s.Stdout != nil && c.Event != nil:
		return Parcel{Line: c.Event, Timeout: webhook.AttemptTime, Receiver: "the server's log"}, nil
	case c.Message == nil:
		return Parcel{}, errors.New("the sink has no target for this")
	}
	subject, text, err := notify.Text(*c.Message, b.Spec.Message)
	if err != nil {
		return Parcel{}, err
	}
	switch s := b.Spec; {
	case s.Mail != nil:
		return b.mail(*s.Mail, c, subject, text)
	case s.Slack != nil:
		return b.post("slack", s.Slack.URL, c.ID(), "",
			map[string]any{"text": strings.TrimSpace("*" + slackText.Replace(subject) + "*\n" +
				slackText.Replace(below(subject, text)))})
	case s.Ntfy != nil:
		return b.ntfy(*s.Ntfy, c, subject, text)
	case s.Shoutrrr != nil:
		return b.relay(*s.Shoutrrr, subject, text)
	}
	return Parcel{}, errors.New("the sink has no target for this")
}

func (b Builder) event(s api.SinkHTTP, c Content) (Parcel, error) {
	request, err := b.request("http", s.URL, s.Headers, c.ID())
	if err != nil {
		return Parcel{}, err
	}
	if request.Body, err = json.Marshal(c.Event); err != nil {
		return Parcel{}, fmt.Errorf("encode the event: %w", err)
	}
	request.Header = append(request.Header, webhook.Field{Name: "Content-Type", Value: api.EventMediaType})
	if len(s.Secrets) > 0 {
		secrets, err := reference.ExpandAll(s.Secrets, b.Spaces)
		if err != nil {
			return Parcel{}, fmt.Errorf("http.secrets: %w", err)
		}
		signature, err := sign(secrets, c.ID(), b.Now, request.Body)
		if err != nil {
			return Parcel{}, fmt.Errorf("http.secrets: a value %w", err)
		}
		request.Header = append(request.Header, webhook.Field{Name: headerSignature, Value: signature})
	}
	request.Header = append(request.Header, webhook.Field{Name: headerID, Value: c.ID()},
		webhook.Field{Name: headerTimestamp, Value: strconv.FormatInt(b.Now.Unix(), 10)})
	return Parcel{Request: &request, Timeout: s.Timeout.Or(webhook.AttemptTime), Receiver: request.Receiver()}, nil
}

// request returns a POST without a body.
func (b Builder) request(field, url string, headers map[string]string, id string) (webhook.Request, error) {
	r, err := webhook.Call{Hook: api.Webhook{URL: url, Headers: headers}, Key: id, Agent: b.Agent,
		Spaces: b.Spaces, Confined: b.confines(url)}.Request()
	if err != nil {
		return r, fmt.Errorf("%s: %w", field, err)
	}
	return r, nil
}

// post returns a POST of JSON.
func (b Builder) post(field, url, id, token string, body map[string]any) (Parcel, error) {
	headers := map[string]string{}
	if token != "" {
		headers["Authorization"] = "Bearer " + token
	}
	request, err := b.request(field, url, headers, id)
	if err != nil {
		return Parcel{}, err
	}
	if request.Body, err = json.Marshal(body); err != nil {
		return Parcel{}, fmt.Errorf("encode the message: %w", err)
	}
	return Parcel{Request: &request, Timeout: webhook.AttemptTime, Receiver: request.Receiver()}, nil
}

// below returns the text under a title that is shown above it: without its first line, if that says the same.
func below(subject, text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.Join(strings.Fields(first), " ") == subject {
		return rest
	}
	return text
}

// slackText escapes what Slack would take for a link or a mention.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

const (
	ntfyServer    = "https://ntfy.sh"
	ntfyHigh      = 4
	ntfyLow       = 2
	maxNtfyText   = 3 << 10 // ntfy makes an attachment of more than 4 KiB
	ntfyFailed    = "rotating_light"
	ntfyRecovered = "white_check_mark"
	ntfyTest      = "test_tube"
)

// ntfy publishes as JSON to the server's root: so a title may have any character.
func (b Builder) ntfy(s api.SinkNtfy, c Content, subject, text string) (Parcel, error) {
	topic, err := reference.Expand(s.Topic, b.Spaces)
	if err != nil {
		return Parcel{}, fmt.Errorf("ntfy.topic: %w", err)
	}
	url, priority, tag := s.URL, s.Priority, ntfyFailed
	url = cmp.Or(url, ntfyServer)
	priority = cmp.Or(priority, ntfyHigh)
	switch {
	case c.Message.Test != "":
		priority, tag = min(priority, ntfyLow), ntfyTest
	case len(c.Message.Failed)+c.Message.More == 0:
		priority, tag = min(priority, ntfyLow), ntfyRecovered
	}
	text = below(subject, text)
	return b.post("ntfy", url, c.ID(), s.Token, map[string]any{
		"topic": topic, "title": subject, "message": strings.ToValidUTF8(text[:min(len(text), maxNtfyText)], ""),
		"priority": priority, "tags": []string{tag},
	})
}

func (b Builder) relay(s api.SinkShoutrrr, subject, text string) (Parcel, error) {
	url, err := reference.Expand(s.URL, b.Spaces)
	if err != nil {
		return Parcel{}, fmt.Errorf("shoutrrr.url: %w", err)
	}
	service, _, _ := strings.Cut(url, ":")
	relay := &Relay{URL: url, Title: subject, Text: text, Confined: b.confines(s.URL)}
	return Parcel{Relay: relay, Timeout: MailTime, Receiver: service}, nil
}

func (b Builder) mail(s api.SinkMail, c Content, subject, text string) (Parcel, error) {
	m := Mail{Host: s.Host, Port: s.Port, TLS: s.TLS, From: s.From, To: s.To, ID: c.ID(), Subject: subject,
		Text: text, At: b.Now}
	if len(c.To) > 0 {
		m.To = c.To
	}
	var err error
	if m.User, err = reference.Expand(s.User, b.Spaces); err != nil {
		return Parcel{}, fmt.Errorf("mail.user: %w", err)
	}
	if m.Password, err = reference.Expand(s.Password, b.Spaces); err != nil {
		return Parcel{}, fmt.Errorf("mail.password: %w", err)
	}
	m.TLS = cmp.Or(m.TLS, api.MailStartTLS)
	if m.Port == 0 {
		m.Port = map[string]int{api.MailTLS: 465, api.MailStartTLS: 587, api.MailPlain: 25}[m.TLS]
	}
	return Parcel{Mail: &m, Timeout: MailTime, Receiver: s.Host}, nil
}
