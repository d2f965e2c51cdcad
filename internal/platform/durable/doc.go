// Package durable makes changes on a disk last: a file that was created, renamed or removed is sure to stay so after a
// loss of power only once its folder is synced.
package durable
