package membership

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// MaxSkew is the number of minor versions that the machines of a cluster may be apart while they are upgraded.
const MaxSkew = 1

// CheckServerVersion refuses a server that joins with a version which does not go with one of those that run: their
// major versions differ, or their minor ones by more than MaxSkew. The version of a build by hand, which names no
// release, is not compared.
func CheckServerVersion(joins string, running []string) *RefusalError {
	for _, version := range running {
		if behind, known := behind(joins, version); known && (behind > MaxSkew || behind < -MaxSkew) {
			return versionRefused(joins, version)
		}
	}
	return nil
}

// CheckAgentVersion refuses a node as CheckServerVersion does a server, and also where it is newer than a server that
// runs: servers are upgraded first.
func CheckAgentVersion(joins string, running []string) *RefusalError {
	for _, version := range running {
		if behind, known := behind(joins, version); known && (behind > MaxSkew || behind < 0) {
			return versionRefused(joins, version)
		}
	}
	return nil
}

func versionRefused(joins, runs string) *RefusalError {
	return &RefusalError{
		Why:  fmt.Sprintf("the machine that joins runs Tend %.64s, and a server of the cluster runs %s", joins, runs),
		Next: "install " + runs + " on the machine, then join again; servers are upgraded before nodes",
	}
}

// otherMajor is more minor versions than a major one has.
const otherMajor = 1 << 20

// behind returns how many minor versions one version is behind another: less than none if it is ahead.
func behind(version, other string) (minors int, known bool) {
	if !semver.IsValid(version) || !semver.IsValid(other) {
		return 0, false
	}
	if semver.Major(version) != semver.Major(other) {
		return semver.Compare(other, version) * otherMajor, true
	}
	return minor(other) - minor(version), true
}

func minor(version string) int {
	_, text, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherMajor
	}
	return n
}
