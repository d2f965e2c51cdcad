// Package packages tests what users of Tend's packages and of its image live through.
//
// The deb is installed with dpkg on a machine of its own, a container in which systemd runs the units as they are
// installed. The machine is made of files of the Debian that runs the tests, so nothing is pulled. It needs a Docker
// engine that grants CAP_SYS_ADMIN, and Debian with the packages systemd and apt.
package packages
