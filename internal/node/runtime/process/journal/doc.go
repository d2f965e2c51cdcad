// Package journal stores a process's output in files of bounded size: one JSON object per line, rotated like docker's
// json-file. A Writer never blocks the process: if the disk is full, it loses lines.
//
// It splits output into lines and decides when a file is full. It doesn't interpret lines.
package journal
