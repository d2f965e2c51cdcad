// Package routemux routes HTTP requests by pattern and lists the patterns, so that a test can walk every one of them.
package routemux
