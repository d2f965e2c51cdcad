// Command bound needs Linux, which the test expects to be found out.
package main

import "syscall"

func main() { _, _ = syscall.EpollCreate1(0) }
