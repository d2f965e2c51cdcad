// Package dockerflags parses the flags of `docker run` (as of Docker 20.10) into fields: it defines the meaning of
// docker_options.
//
// It decides which flags exist, what their values mean, and which ones contradict what Tend owns (names, restarts,
// identity labels) or would read files of the machine that runs the command. It never talks to a container engine: a
// runtime maps Options onto its own API.
//
//	options, err := dockerflags.Parse([]string{"--cpus=1.5", "--sysctl", "net.core.somaxconn=1024"})
//
// A repeated flag means the same as for docker: a list grows, anything else takes the last value.
package dockerflags
