// Package helmrelease tests that the operator reads releases as Helm stores them. Helm's own library installs and
// upgrades a chart, and keeps each revision in a Secret: these Secrets, and what Helm reads in them, are the golden
// files of the operator's engines, which must read the same. It is a module of its own, so that nothing of Helm gets
// into Tend.
package helmrelease
