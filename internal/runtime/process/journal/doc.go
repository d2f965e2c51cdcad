// Package journal keeps a process's output in files of bounded size: one JSON object a line, rotated like docker's
// json-file. Writers never block what they record: when the disk is full, lines are lost, not time.
//
// It decides how lines are cut and when a file is full, never what they mean.
package journal
