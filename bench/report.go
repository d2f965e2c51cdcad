package main

import (
	"fmt"
	"time"
)

// The lines scripts read.

func value(name string, amount float64, unit string) {
	fmt.Printf("bench: %s %.4g %s\n", name, amount, unit)
}

func ratio(name string, amount float64, peer string) {
	fmt.Printf("bench: %s %.2f x %s\n", name, amount, peer)
}

func duration(name string, d time.Duration) {
	switch {
	case d >= time.Second:
		value(name, d.Seconds(), "s")
	case d >= time.Millisecond:
		value(name, milliseconds(d), "ms")
	default:
		value(name, float64(d)/float64(time.Microsecond), "us")
	}
}

// compare prints the ratio of two sides and both times.
func compare(name string, t times, ours, peer, peerName string) {
	ratio(name, t.ratio(ours, peer), peerName)
	duration(name+"-"+ours, t.median(ours))
	duration(name+"-"+peer, t.median(peer))
}
