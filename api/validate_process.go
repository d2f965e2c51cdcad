package api

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tend.dev/tend/api/pattern"
)

// The grammar of image references, as registries and engines share it.
const (
	imageDomain = `(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?`
	imagePart   = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageTag    = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
	imageDigest = `sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}`
)

var imageReference = pattern.Lazy(`^((?:` + imageDomain + `/)?` + imagePart + `(?:/` + imagePart + `)*)(?::` +
	imageTag + `)?(?:@(?:` + imageDigest + `))?$`)

// CheckImage checks an image reference as `docker pull` takes it, or an absolute path (the process runtime runs
// folders).
func CheckImage(reference string) error {
	if path.IsAbs(reference) {
		return checkNoParent("path", reference)
	}
	match := imageReference().FindStringSubmatch(reference)
	if match != nil && !isDomain(match[1]) && strings.ToLower(match[1]) != match[1] {
		match = nil // engines take the part before the slash for a registry only if it looks like one
	}
	switch {
	case match == nil && imageReference().MatchString(strings.ToLower(reference)):
		return fmt.Errorf("%q holds upper-case letters; a repository's name is lower-case", reference)
	case match == nil:
		return fmt.Errorf("%q is not an image reference such as nginx:1.27 or ghcr.io/owner/app@sha256:…", reference)
	case len(match[1]) > 255:
		return errors.New("the repository's name is longer than 255 characters")
	case bareID().MatchString(reference):
		return errors.New("64 hex digits are an image's id, not its name; write sha256: before them")
	}
	return nil
}

// isDomain reports whether a repository begins with a registry: its first part has a dot or a port, or is localhost.
func isDomain(repository string) bool {
	first, _, found := strings.Cut(repository, "/")
	return found && (strings.ContainsAny(first, ".:") || first == "localhost")
}

var bareID = pattern.Lazy(`^[0-9a-f]{64}$`)

func (c *checker) image(s DeploymentSpec) {
	switch {
	case s.Image == "" && s.Build == nil:
		c.add("image", "is required, or build to make it from source")
	case s.Image != "" && s.Build != nil:
		c.add("image", "and build exclude each other")
	case s.Image != "" && !hasReference(s.Image):
		c.addError("image", CheckImage(s.Image))
	}
}

var (
	userName   = pattern.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$`)
	signalName = pattern.Lazy(`^(SIG)?(HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|KILL|USR1|SEGV|USR2|PIPE|ALRM|TERM|STKFLT|CHLD|CLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|SYS|UNUSED|RTMIN(\+([1-9]|1[0-5]))?|RTMAX(-([1-9]|1[0-4]))?)$`)
)

// process checks what runs and how it is stopped.
func (c *checker) process(s DeploymentSpec) {
	c.argv("command", s.Command)
	c.argv("entrypoint", s.Entrypoint)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		c.addError(key("env", name), CheckEnv(name, s.Env[name]))
	}
	if len(s.EnvFile) > 0 {
		c.add("env_file", "is read by the client and never sent; apply the manifest with tend apply")
	}
	if s.User != "" {
		user, group, hasGroup := strings.Cut(s.User, ":")
		if !userName().MatchString(user) || (hasGroup && !userName().MatchString(group)) {
			c.add("user", "%q is not a name, a uid, or either with :group", s.User)
		}
	}
	if s.WorkingDir != "" && !path.IsAbs(s.WorkingDir) {
		c.add("working_dir", "%q is not an absolute path", s.WorkingDir)
	}
	if s.StopSignal != "" && !validSignal(s.StopSignal) {
		c.add("stop_signal", "%q is not a signal such as SIGTERM, or its number", s.StopSignal)
	}
	c.duration("stop_grace_period", s.StopGracePeriod, 0, maxWait)
	c.addError("restart", checkRestart(s.Restart))
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			c.add(key("labels", name), "a label's key is not empty and holds no = or NUL")
		case strings.HasPrefix(name, LabelPrefix):
			c.add(key("labels", name), "labels that begin with %q are Tend's own", LabelPrefix)
		}
	}
}

func (c *checker) argv(field string, argv []string) {
	if len(argv) > 0 && argv[0] == "" {
		c.add(index(field, 0), "is empty: name the program to run")
	}
	c.each(field, argv, func(arg string) error {
		if strings.ContainsRune(arg, 0) {
			return errors.New("contains a NUL")
		}
		return nil
	})
}

// CheckEnv checks one variable of an environment.
func CheckEnv(name, value string) error {
	switch {
	case name == "":
		return errors.New("a variable's name is empty")
	case strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("%q holds = or NUL, which no variable's name can", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("%q begins or ends with a space", name)
	case strings.ContainsRune(value, 0):
		return errors.New("the value contains a NUL")
	case !utf8.ValidString(name) || !utf8.ValidString(value): // JSON would change the bytes
		return errors.New("name or value is not UTF-8 text: mount a file for binary data (an asset)")
	case len(name)+len(value)+len("=\x00") > maxEnvBytes:
		return fmt.Errorf("name and value take %d bytes, and Linux starts no program with a variable of more than %d: mount a file instead (an asset)",
			len(name)+len(value)+len("=\x00"), maxEnvBytes)
	}
	return nil
}

// maxEnvBytes is the kernel's MAX_ARG_STRLEN: one variable with its name, the = and the NUL at its end.
const maxEnvBytes = 131072

func validSignal(text string) bool {
	if n, err := strconv.Atoi(text); err == nil {
		return n >= 1 && n <= 64
	}
	return signalName().MatchString(text)
}

func checkRestart(policy string) error {
	name, count, counted := strings.Cut(policy, ":")
	if counted && name == "on-failure" {
		if n, err := strconv.Atoi(count); err != nil || n < 0 || n > 1000 {
			return fmt.Errorf("%q: the number behind on-failure is 0 to 1000", policy)
		}
		return nil
	}
	switch policy {
	case "", "no", "always", "unless-stopped", "on-failure":
		return nil
	}
	return fmt.Errorf("%q is not no, always, unless-stopped or on-failure[:N]", policy)
}
