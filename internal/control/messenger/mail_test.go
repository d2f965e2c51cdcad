package messenger

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/messenger/messengertest"
	"tend.dev/tend/internal/core/sink"
)

func TestMain(m *testing.M) {
	if os.Getenv(relayed) != "" && len(os.Args) == 2 && os.Args[1] == RelayCommand {
		os.Exit(ServeRelay(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

func mailTo(s *messengertest.Server, mode string) sink.Mail {
	return sink.Mail{
		Host: "127.0.0.1", Port: s.Port, TLS: mode, From: "Tend <tend@example.org>",
		To: []string{"ops@example.org", "me@example.org"},
		ID: "evt_1", Subject: "web is down ✗", Text: "deployment prod/web failed\n.\nNext: …", At: time.Unix(1e9, 0),
	}
}

func TestMail(t *testing.T) {
	for _, mode := range []string{api.MailStartTLS, api.MailTLS, api.MailPlain} {
		t.Run(mode, func(t *testing.T) {
			server := messengertest.New(t, mode)
			mail := mailTo(server, mode)
			if mode != api.MailPlain {
				mail.User, mail.Password = "tend", "s3cret"
			}
			m := &Messenger{Roots: server.Roots}
			answers := m.Mail(t.Context(), mail)
			if len(answers) != 2 || sink.Judge(answers[0]) != sink.Delivered ||
				sink.Judge(answers[1]) != sink.Delivered {
				t.Fatalf("%+v", answers)
			}
			got := server.Mails()
			if len(got) != 2 || got[0].From != "tend@example.org" ||
				strings.Join(got[0].To, " ") != "ops@example.org" || strings.Join(got[1].To, " ") != "me@example.org" {
				t.Fatalf("the server has %+v", got)
			}
			if got[0].Encrypted != (mode != api.MailPlain) || got[0].User != mail.User ||
				got[0].Password != mail.Password {
				t.Errorf("the session was %+v", got[0])
			}
			for _, part := range []string{"Message-ID: <evt_1@tend>", "Auto-Submitted: auto-generated",
				"deployment prod/web failed", "Next: =E2=80=A6"} {
				if !strings.Contains(got[0].Data, part) {
					t.Errorf("%q is not in the mail:\n%s", part, got[0].Data)
				}
			}
		})
	}
}

// TestNoMailWithoutEncryption: a server without STARTTLS, or with a certificate of an unknown authority, gets neither a
// mail nor a password.
func TestNoMailWithoutEncryption(t *testing.T) {
	plain, unknown := messengertest.New(t, api.MailPlain), messengertest.New(t, api.MailStartTLS)
	for name, tc := range map[string]struct {
		server *messengertest.Server
		mode   string
	}{"plain": {plain, api.MailStartTLS}, "unknown": {unknown, api.MailStartTLS}} {
		mail := mailTo(tc.server, tc.mode)
		mail.User, mail.Password = "tend", "s3cret"
		answer := (&Messenger{}).Mail(t.Context(), mail)[1]
		if sink.Judge(answer) != sink.Retry || strings.Contains(sink.Text(answer), "s3cret") ||
			len(tc.server.Mails()) > 0 {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

// TestRefusals: an address that the server refuses for good ends the attempts; a full mailbox or a wrong password
// doesn't.
func TestRefusals(t *testing.T) {
	server := messengertest.New(t, api.MailStartTLS)
	for name, tc := range map[string]struct {
		verb, answer string
		want         sink.Verdict
	}{
		"no such address": {"RCPT", "550 no such address", sink.Refused},
		"full":            {"RCPT", "452 the mailbox is full", sink.Retry},
		"greylisted":      {"MAIL", "451 come back later", sink.Retry},
		"wrong password":  {"AUTH", "535 wrong password", sink.Retry},
		"busy":            {"EHLO", "421 busy", sink.Retry},
	} {
		server.Answer(func(verb string) string {
			if verb == tc.verb {
				return tc.answer
			}
			return ""
		})
		mail := mailTo(server, api.MailStartTLS)
		mail.User, mail.Password = "tend", "s3cret"
		answer := (&Messenger{Roots: server.Roots}).Mail(t.Context(), mail)[0]
		if got := sink.Judge(answer); got != tc.want || strings.Contains(sink.Text(answer), "s3cret") {
			t.Errorf("%s: %v, %s", name, got, sink.Text(answer))
		}
	}
	if len(server.Mails()) > 0 {
		t.Errorf("the server took %+v", server.Mails())
	}
}

// TestARefusedAddressKeepsNoOtherFromItsMail: each address gets its own answer, also after one that was refused.
func TestARefusedAddressKeepsNoOtherFromItsMail(t *testing.T) {
	server := messengertest.New(t, api.MailStartTLS)
	server.AnswerLine(func(line string) string {
		switch {
		case strings.HasPrefix(line, "RCPT TO:<ops@"):
			return "550 5.1.1 no such address"
		case strings.HasPrefix(line, "RCPT TO:<full@"):
			return "452 the mailbox is full"
		}
		return ""
	})
	mail := mailTo(server, api.MailStartTLS)
	mail.To = []string{"ops@example.org", "full@example.org", "me@example.org"}
	answers := (&Messenger{Roots: server.Roots}).Mail(t.Context(), mail)
	for i, want := range []sink.Verdict{sink.Refused, sink.Retry, sink.Delivered} {
		if got := sink.Judge(answers[i]); got != want {
			t.Errorf("%s: %v, want %v: %s", mail.To[i], got, want, sink.Text(answers[i]))
		}
	}
	got := server.Mails()
	delivered := len(got) == 1 && strings.Join(got[0].To, " ") == "me@example.org"
	if !delivered || !strings.Contains(sink.Text(answers[0]), "no such address") {
		t.Errorf("the server has %+v; %s", got, sink.Text(answers[0]))
	}
}

// TestAServerThatRepeatsTheLogin: no answer contains the password, plain or encoded.
func TestAServerThatRepeatsTheLogin(t *testing.T) {
	server := messengertest.New(t, api.MailStartTLS)
	sent := make(chan string, 1)
	server.AnswerLine(func(line string) string {
		if !strings.HasPrefix(line, "AUTH") {
			return ""
		}
		sent <- line
		return "535 not s3cret-t0ken (" + line + ")"
	})
	mail := mailTo(server, api.MailStartTLS)
	mail.User, mail.Password = "tend", "s3cret-t0ken"
	text := sink.Text((&Messenger{Roots: server.Roots}).Mail(t.Context(), mail)[0])
	line := <-sent
	encoded := line[strings.LastIndex(line, " ")+1:]
	shows := strings.Contains(text, "t0ken") || strings.Contains(text, encoded[len(encoded)-12:])
	if shows || !strings.Contains(text, "535") || !strings.Contains(text, "xxxxx") {
		t.Errorf("%q shows what was sent as %q", text, line)
	}
}

// TestAnAttemptEndsWithItsContext: neither a silent server nor one that never stops talking holds an attempt up.
func TestAnAttemptEndsWithItsContext(t *testing.T) {
	server := messengertest.New(t, api.MailPlain)
	for name, answer := range map[string]string{"silent": "-",
		"talkative": strings.Repeat("250-"+strings.Repeat("x", 1000)+"\r\n", 1000) + "250 end"} {
		server.Answer(func(verb string) string {
			if verb == "MAIL" {
				return answer
			}
			return ""
		})
		ctx, cancel := context.WithCancel(t.Context())
		if name == "silent" {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		answer := (&Messenger{}).Mail(ctx, mailTo(server, api.MailPlain))[1]
		if sink.Judge(answer) != sink.Retry {
			t.Errorf("%s: %+v", name, answer)
		}
		cancel()
	}
}
