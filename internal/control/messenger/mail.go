package messenger

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/wneessen/go-mail"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/redact"
	"tend.dev/tend/internal/core/sink"
)

// maxRead is the most bytes that one attempt reads from a server.
const maxRead = 256 << 10

// accepted is the SMTP code with which a server accepts a mail.
const accepted = 250

// Messenger sends messages. Its zero value trusts the machine's certificate authorities. It is safe for concurrent use.
type Messenger struct {
	// Roots are the certificate authorities trusted for mail servers. Default: those of the machine.
	Roots *x509.CertPool
	// Program is the path of a program whose RelayCommand calls ServeRelay.
	Program string
}

// Mail makes one attempt to hand the server a mail for each address, in one session, and returns an answer for each. It
// ends with ctx. No answer contains the login, even if the server repeats it.
func (m *Messenger) Mail(ctx context.Context, of sink.Mail) []sink.Answer {
	answers, messages := make([]sink.Answer, len(of.To)), make([]*mail.Msg, len(of.To))
	all := func(answer sink.Answer) []sink.Answer {
		for i := range answers {
			answers[i] = answer
		}
		return answers
	}
	client, err := m.client(ctx, of)
	if err != nil {
		return all(sink.Answer{Final: true, Err: shownError(of, err)})
	}
	for i, to := range of.To {
		if messages[i], err = newMail(of, to); err != nil {
			return all(sink.Answer{Final: true, Err: err})
		}
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return all(sink.Answer{Err: shownError(of, timeoutOr(ctx, err))})
	}
	err = client.SendWithSMTPClient(session, messages...)
	_ = client.CloseWithSMTPClient(session) // the server has already answered for each mail
	for i, message := range messages {
		failed := message.SendError()
		switch {
		case message.IsDelivered():
			answers[i].Status = accepted
		case failed == nil: // the session ended before the first mail
			answers[i].Err = shownError(of, timeoutOr(ctx, err))
		default:
			answers[i] = sink.Answer{Final: isRefused(failed), Err: shownError(of, timeoutOr(ctx, failed))}
		}
	}
	return answers
}

// shownError returns an error that is safe to show: it names the server and hides the login.
func shownError(of sink.Mail, err error) error {
	if err == nil {
		err = errors.New("the session ended without an answer for the mail")
	}
	return errors.New(redact.Secrets(fmt.Sprintf("mail server %s: %s", of.Host, err), of.Password))
}

// timeoutOr returns a timeout error if the deadline of ctx has passed, and err otherwise.
func timeoutOr(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// isRefused reports whether the server would refuse the mail on every attempt, because of an address or the mail
// itself.
func isRefused(err error) bool {
	const permanent = 500
	var failed *mail.SendError
	return errors.As(err, &failed) && !failed.IsTemp() && failed.ErrorCode() >= permanent
}

func newMail(m sink.Mail, to string) (*mail.Msg, error) {
	message := mail.NewMsg()
	if err := message.From(m.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	if err := message.To(to); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	message.Subject(m.Subject)
	message.SetMessageIDWithValue(m.ID + "@tend")
	message.SetDateWithValue(m.At)
	message.SetUserAgent("tend")
	message.SetGenHeader("Auto-Submitted", "auto-generated") // prevents out-of-office replies
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	return message, nil
}

func (m *Messenger) client(ctx context.Context, of sink.Mail) (*mail.Client, error) {
	config := &tls.Config{ServerName: of.Host, RootCAs: m.Roots, MinVersion: tls.VersionTLS12}
	options := []mail.Option{
		mail.WithPort(of.Port), mail.WithTimeout(sink.MailTime), mail.WithTLSConfig(config), mail.WithoutNoop(),
		mail.WithDialContextFunc(dialer(ctx, of.TLS, config)),
	}
	switch of.TLS {
	case api.MailTLS:
		options = append(options, mail.WithSSL())
	case api.MailPlain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if of.User != "" {
		// The library refuses PLAIN and LOGIN in a session that isn't encrypted.
		options = append(options, mail.WithUsername(of.User), mail.WithPassword(of.Password),
			mail.WithOpportunisticSMTPAuth(
				mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	return mail.NewClient(of.Host, options...)
}

// dialer returns a dial function. Its connections are closed when attempt ends, and deliver at most maxRead bytes.
func dialer(attempt context.Context, mode string, config *tls.Config) mail.DialContextFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var plain net.Dialer
		conn, err := plain.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(attempt, func() { _ = conn.Close() })
		bound := &boundConn{Conn: conn, left: maxRead}
		if mode != api.MailTLS {
			return bound, nil
		}
		secured := tls.Client(bound, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secured, nil
	}
}

type boundConn struct {
	net.Conn
	left int
}

func (c *boundConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
