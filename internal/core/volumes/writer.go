package volumes

import (
	"fmt"
	"path"
)

// Writer is a container that writes to what Tend's container would write to.
type Writer struct {
	// Source is the name of the volume, or the folder of the host.
	Source    string
	Container string
	// Project and Service are Compose's; empty for a container that Compose didn't make.
	Project, Service string
}

// Detail returns what is in use, and by which container.
func (w Writer) Detail() string {
	return fmt.Sprintf("the %s is in use: %s writes to it", place(w.Source), w.who())
}

// Beside returns who writes to what a running pod writes to.
func (w Writer) Beside() string {
	return fmt.Sprintf("%s writes to the %s too, and was started later", w.who(), place(w.Source))
}

func (w Writer) who() string {
	who := "container " + w.Container
	if w.Project != "" {
		who += fmt.Sprintf(" (service %s of the Compose project %s)", w.Service, w.Project)
	}
	return who
}

// place calls a source what it is.
func place(source string) string {
	if path.IsAbs(source) {
		return "folder " + source
	}
	return "volume " + source
}

// End returns how to end the container, where a pod runs beside it.
func (w Writer) End() string {
	if w.Project != "" {
		return fmt.Sprintf("docker compose -p %s down (without -v), then check the data: both wrote to it", w.Project)
	}
	return fmt.Sprintf("docker stop %s, then check the data: both wrote to it", w.Container)
}

// Next returns the next step.
func (w Writer) Next() string {
	if w.Project != "" {
		return fmt.Sprintf("docker compose -p %s down (without -v), then apply again; or take the project over: tend adopt compose", w.Project)
	}
	return fmt.Sprintf("docker stop %s, then apply again; or mount it read-only (%s:…:ro)", w.Container, w.Source)
}
