// Package cli is the command line: it turns arguments into calls of the API and answers into lines.
//
// It decides nothing about workloads. Scripts may rely on its exit codes (ExitCode) and on -o json, yaml and name;
// tables are for people.
package cli
