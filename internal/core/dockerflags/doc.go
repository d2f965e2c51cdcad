// Package dockerflags turns the flags of `docker run` (as of Docker 20.10) into fields: the meaning of docker_options.
//
// It decides which flags exist, what their values mean, and which ones contradict what Tend owns (names, restarts,
// identity labels) or would read files of the machine that runs the command. It never talks to an engine: a runtime
// maps Options onto its own API.
//
//	options, err := dockerflags.Parse([]string{"--cpus=1.5", "--sysctl", "net.core.somaxconn=1024"})
//
// A flag that is given twice means what it means to docker: a list grows, anything else takes the last value.
package dockerflags
