package api

import (
	"strings"
	"time"
)

// SinkSpec declares where events go: a filter, and exactly one of the targets.
type SinkSpec struct {
	Filter *SinkFilter `json:"filter,omitempty" hcl:"filter,block"`

	// HTTP gets every event as a CloudEvent, Stdout as a line of the server's log.
	HTTP   *SinkHTTP   `json:"http,omitempty" hcl:"http,block"`
	Stdout *SinkStdout `json:"stdout,omitempty" hcl:"stdout,block"`
	// Mail, Slack, Ntfy and Shoutrrr reach people: they get messages about failures, not events.
	Mail     *SinkMail     `json:"mail,omitempty" hcl:"mail,block"`
	Slack    *SinkSlack    `json:"slack,omitempty" hcl:"slack,block"`
	Ntfy     *SinkNtfy     `json:"ntfy,omitempty" hcl:"ntfy,block"`
	Shoutrrr *SinkShoutrrr `json:"shoutrrr,omitempty" hcl:"shoutrrr,block"`

	// Message sets the text of messages to people, and their frequency.
	Message *SinkMessage `json:"message,omitempty" hcl:"message,block"`
	// RetryFor is the time for which an event, or a message, is retried before the next one's turn. Default 1h.
	RetryFor Duration `json:"retry_for,omitempty" hcl:"retry_for,optional"`
}

// SinkFilter chooses events: those that every list that is given has a pattern for. In a pattern * is any text.
type SinkFilter struct {
	// Types lists event types, such as deployment.created or *.reconciliation.failed.
	Types  []string `json:"types,omitempty" hcl:"types,optional"`
	Kinds  []string `json:"kinds,omitempty" hcl:"kinds,optional"`
	Scopes []string `json:"scopes,omitempty" hcl:"scopes,optional"`
	Names  []string `json:"names,omitempty" hcl:"names,optional"`
	// Failures chooses events of failures alone.
	Failures bool `json:"failures,omitempty" hcl:"failures,optional"`
}

// SinkHTTP is a receiver of CloudEvents in the structured form.
type SinkHTTP struct {
	URL     string            `json:"url" hcl:"url"`
	Headers map[string]string `json:"headers,omitempty" hcl:"headers,optional"`
	// Secrets sign each request: one, or two while a receiver changes from one to the other. Each is a config value
	// whsec_… .
	Secrets []string `json:"secrets,omitempty" hcl:"secrets,optional"`
	// Timeout bounds one request. Default 10s.
	Timeout Duration `json:"timeout,omitempty" hcl:"timeout,optional"`
}

// SinkStdout is the server's log.
type SinkStdout struct{}

// SinkMail is a mail server and who gets mail through it.
type SinkMail struct {
	Host string `json:"host" hcl:"host"`
	// Port is the server's. Default 587, with tls = "tls" 465.
	Port int `json:"port,omitempty" hcl:"port,optional"`
	// TLS is starttls (required), tls (from the first byte) or none. Default starttls.
	TLS      string   `json:"tls,omitempty" hcl:"tls,optional"`
	User     string   `json:"user,omitempty" hcl:"user,optional"`
	Password string   `json:"password,omitempty" hcl:"password,optional"`
	From     string   `json:"from" hcl:"from"`
	To       []string `json:"to" hcl:"to"`
}

// The values of SinkMail.TLS.
const (
	MailStartTLS = "starttls"
	MailTLS      = "tls"
	MailPlain    = "none"
)

// SinkSlack is an incoming webhook of Slack, or of what takes the same form.
type SinkSlack struct {
	URL string `json:"url" hcl:"url"`
}

// SinkNtfy is a topic of ntfy.
type SinkNtfy struct {
	// URL is the server's. Default https://ntfy.sh.
	URL   string `json:"url,omitempty" hcl:"url,optional"`
	Topic string `json:"topic" hcl:"topic"`
	Token string `json:"token,omitempty" hcl:"token,optional"`
	// Priority of failures, 1 to 5. Default 4; what recovered has 2.
	Priority int `json:"priority,omitempty" hcl:"priority,optional"`
}

// SinkShoutrrr is any service of the library shoutrrr, such as Discord, Telegram, Teams or Matrix.
type SinkShoutrrr struct {
	URL string `json:"url" hcl:"url"`
}

// SinkMessage is the message that people are sent. One message is sent for a cause: an object and the reason of its
// failure.
type SinkMessage struct {
	// Template and Subject are text/template, see SinkMessageData. A subject is one line.
	Template string `json:"template,omitempty" hcl:"template,optional"`
	Subject  string `json:"subject,omitempty" hcl:"subject,optional"`
	// Gather is the time for which a failure waits for others, to share one message. Default 10s.
	Gather Duration `json:"gather,omitempty" hcl:"gather,optional"`
	// Pause is the shortest time between two messages. Default 1m.
	Pause Duration `json:"pause,omitempty" hcl:"pause,optional"`
	// Quiet is the shortest time between two messages about one cause that was resolved in between. Default 30m.
	Quiet Duration `json:"quiet,omitempty" hcl:"quiet,optional"`
	// Repeat is the shortest time between two messages about one cause that was not. Default 24h.
	Repeat Duration `json:"repeat,omitempty" hcl:"repeat,optional"`
	// Resolved: a message says that a cause is resolved. Default true.
	Resolved *bool `json:"resolved,omitempty" hcl:"resolved,optional"`
}

// The targets of sinks, as their type.
const (
	SinkTypeHTTP     = "http"
	SinkTypeStdout   = "stdout"
	SinkTypeMail     = "mail"
	SinkTypeSlack    = "slack"
	SinkTypeNtfy     = "ntfy"
	SinkTypeShoutrrr = "shoutrrr"
)

// SinkTypes lists every type of sink.
var SinkTypes = []string{SinkTypeHTTP, SinkTypeStdout, SinkTypeMail, SinkTypeSlack, SinkTypeNtfy, SinkTypeShoutrrr}

// targets returns the types that a spec has a target of.
func (s SinkSpec) targets() (found []string) {
	for i, there := range []bool{s.HTTP != nil, s.Stdout != nil, s.Mail != nil, s.Slack != nil,
		s.Ntfy != nil, s.Shoutrrr != nil} {
		if there {
			found = append(found, SinkTypes[i])
		}
	}
	return found
}

// Type returns the type of the sink's target; empty without one.
func (s SinkSpec) Type() string { return strings.Join(s.targets(), "+") }

// People reports whether the sink reaches people: it sends messages about failures, not events.
func (s SinkSpec) People() bool {
	return s.Mail != nil || s.Slack != nil || s.Ntfy != nil || s.Shoutrrr != nil
}

// DefaultSinkRetry is the time for which an event is retried if the sink declares none.
const DefaultSinkRetry = time.Hour
