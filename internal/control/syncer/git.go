package syncer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/redact"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/gitcmd"
	"tend.dev/tend/internal/platform/subprocess"
)

// tarRoom is the size that the headers of an archive add to its files.
const tarRoom = maxFiles * 2048

// keyFile is the file of the private key, while a repository is polled.
const keyFile = "key"

var commitID = pattern.Lazy(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// repository is Tend's copy of a repository, and how it is reached.
type repository struct {
	s      *Syncer
	of     *fetched
	spec   api.SyncSpec
	folder string
	access gitcmd.Access
}

// pollGit fetches the commit that the ref names, if it is another one.
func (s *Syncer) pollGit(ctx context.Context, f *fetched, spec api.SyncSpec) error {
	r, err := s.repository(f, spec)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(filepath.Join(f.folder, keyFile)) }() // it is on the disk only while ssh needs it
	if err := r.pin(ctx); err != nil {
		return err
	}
	name, id, err := r.resolve(ctx)
	if err != nil {
		return err
	}
	if id == f.id {
		return nil
	}
	if err := r.fetch(ctx, name); err != nil {
		return err
	}
	r.tidy(ctx)
	commit, err := r.local(ctx, "rev-parse", "--verify", fetchedRef+"^{commit}")
	if err != nil {
		return err
	}
	if err := r.verify(ctx, commit); err != nil {
		return err
	}
	if commit != f.revision {
		if err := f.replace(ctx, commit, false, func(folder string) error {
			return r.unpack(ctx, commit,
				folder)
		}); err != nil {
			return err
		}
	}
	f.id = id
	return nil
}

// repository opens the copy of a repository, and writes the files that ssh needs.
func (s *Syncer) repository(f *fetched, spec api.SyncSpec) (*repository, error) {
	r := &repository{s: s, of: f, spec: spec, folder: filepath.Join(f.folder, "git")}
	r.access = gitcmd.Access{URL: spec.Git, Username: spec.Username, Password: spec.Password, Direct: !spec.Trusted}
	for _, file := range []struct {
		name, text string
		path       *string
	}{{keyFile, spec.SSHKey, &r.access.KeyFile}, {"known_hosts", spec.KnownHosts, &r.access.KnownHosts}} {
		at := filepath.Join(f.folder, file.name)
		if file.text == "" {
			_ = os.Remove(at) // of an earlier form of the sync
			continue
		}
		*file.path = at
		if err := os.WriteFile(at, []byte(strings.TrimRight(file.text, "\n")+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	return r, os.MkdirAll(r.folder, 0o700)
}

// resolve asks the repository which full name the ref has and what it names now. A branch goes before a tag.
func (r *repository) resolve(ctx context.Context) (name, id string, err error) {
	ref := r.spec.Ref
	if commitID().MatchString(ref) {
		return ref, ref, nil
	}
	names := []string{"HEAD"}
	if ref != "" {
		names = []string{"refs/heads/" + ref, "refs/tags/" + ref, ref}
	}
	out, err := r.git(ctx, 0, nil, func(repository string) []string {
		return append([]string{"ls-remote", "--quiet", "--", repository}, names...)
	})
	if err != nil {
		return "", "", err
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && commitID().MatchString(id) {
			listed[name] = id
		}
	}
	for _, name := range names {
		if id := listed[name]; id != "" {
			return name, id, nil
		}
	}
	return "", "", source.NewFault(api.ReasonFetchFailed,
		"set ref to a branch, a tag or a whole commit id of the repository",
		"%s has no branch or tag %q", r.spec.Source(), ref)
}

// verify checks the signature of a commit, or of the tag that names it, where signers are given.
func (r *repository) verify(ctx context.Context, commit string) error {
	if r.spec.AllowedSigners == "" {
		return nil
	}
	at := filepath.Join(filepath.Dir(r.folder), "signers")
	if err := os.WriteFile(at, []byte(strings.TrimRight(r.spec.AllowedSigners, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	// Keys of the user's own keyring are no signers: only ssh's signatures count.
	options := []string{"-c", "gpg.ssh.allowedSignersFile=" + at, "-c", "gpg.program=false", "-c",
		"gpg.openpgp.program=false", "-c", "gpg.x509.program=false"}
	_, err := r.git(ctx, 0, options, func(string) []string { return []string{"verify-commit", commit} })
	if err == nil {
		return nil
	}
	if kind, _ := r.local(ctx, "cat-file", "-t", fetchedRef); kind == "tag" {
		if _, tagErr := r.git(ctx, 0, options,
			func(string) []string { return []string{"verify-tag", fetchedRef} }); tagErr == nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return err
	}
	return source.NewFault(api.ReasonNotVerified,
		"sign it with a key of allowed_signers (git commit -S), or add the signer there",
		"commit %s of %s has no signature of an allowed signer: %s", source.Short(commit), r.spec.Source(), err)
}

// unpack writes the files of a commit into a folder: those below path, or all. Links that lead out are refused.
func (r *repository) unpack(ctx context.Context, commit, folder string) error {
	if err := r.measure(ctx, commit); err != nil {
		return err
	}
	args := []string{"archive", "--format=tar", commit}
	if r.spec.Path != "" {
		args = append(args, "--", path.Clean(r.spec.Path))
	}
	// The path isn't a pattern: what it names was measured.
	out, err := r.git(ctx, r.s.MaxBytes+tarRoom, []string{"--literal-pathspecs"}, func(string) []string { return args })
	if err != nil {
		return err
	}
	return r.s.untar(ctx, bytes.NewReader(out), folder)
}

// local runs git on the copy and returns the line it prints.
func (r *repository) local(ctx context.Context, args ...string) (string, error) {
	out, err := r.git(ctx, 0, nil, func(string) []string { return args })
	return strings.TrimSpace(string(out)), err
}

// git runs git in the copy's folder.
func (r *repository) git(
	ctx context.Context, stdout int64, options []string, args func(repository string) []string,
) ([]byte, error) {
	env := r.s.environ()
	env["GIT_DIR"] = r.folder
	// nothing of git outlives the call
	options = append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, options...)
	out, err := gitcmd.Run(ctx, r.s.Git, gitcmd.Call{
		Access: r.access, Options: options, Args: args, Dir: r.folder, Env: env, Limit: fetchTime, Stdout: stdout,
		Memory:   maxMemory,
		TooLarge: r.large,
	})
	switch {
	case errors.Is(err, subprocess.ErrFlood) && stdout > 0:
		return nil, r.s.tooLarge()
	case errors.Is(err, exec.ErrNotFound):
		return nil, noProgram("git", "git")
	case err != nil:
		return nil, fmt.Errorf("git: %w", err)
	case out.Code != 0 && lacksSSH(out.Stderr):
		return nil, noProgram("ssh", "openssh-client")
	case out.Code != 0 && r.access.Direct && redirected().Match(out.Stderr):
		return nil, source.NewFault(api.ReasonFetchFailed,
			"write the URL to which it redirects (git ls-remote shows it), or set trusted = true",
			"the server of the repository redirects, which git doesn't follow for a source that is not trusted: git: %s",
			r.shown(string(out.Stderr)))
	case out.Code != 0:
		return nil, errors.New("git: " + r.shown(string(out.Stderr)))
	}
	return out.Stdout, nil
}

// noProgram is the fault of a source that can't be read without a program.
func noProgram(name, pack string) error {
	return source.NewFault(api.ReasonFetchFailed, "install "+pack+
		" where the server runs; in a container, use an image that has it",
		"the source needs the program %s, which the server's machine lacks", name)
}

// cannotRunSSH matches the words of git, or its shell, if there is no ssh.
var cannotRunSSH = pattern.Lazy(`cannot run ssh|ssh: .*not found`)

// lacksSSH reports whether a call of git failed because there is no ssh.
func lacksSSH(said []byte) bool {
	_, err := exec.LookPath("ssh")
	return err != nil && cannotRunSSH().Match(said)
}

// advice are lines that git adds to every failure of a remote, whatever its cause.
var advice = []string{"fatal: Could not read from remote repository.",
	"Please make sure you have the correct access rights", "and the repository exists."}

// shown returns a message of git without what is of no use in it, or secret: that before it is cut.
func (r *repository) shown(text string) string {
	text = redact.Secrets(strings.ReplaceAll(text, filepath.Dir(r.folder)+"/", ""), secretsOf(r.spec)...)
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(advice, line) {
			lines = append(lines, line)
		}
	}
	text = strings.Join(lines, "\n")
	text = strings.ToValidUTF8(text, "?")
	const most = 1000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return cmp.Or(text, "it failed without a word")
}

// redirected matches git's words about a redirect that it doesn't follow.
var redirected = pattern.Lazy(`returned error: 30[0-9]`)

// passed are the variables of the server that git gets.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
	"https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME",
}

func (s *Syncer) environ() map[string]string {
	out := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, entry := range s.Environ() {
		if name, value, _ := strings.Cut(entry, "="); slices.Contains(passed, name) && value != "" {
			out[name] = value
		}
	}
	return out
}
