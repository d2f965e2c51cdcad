//go:build integration && long

package e2e

func init() {
	apartStories = append(apartStories, "TestHealsInPlace", "TestAssetChanges", "TestBuildFromADockerfile",
		"TestAJobIsTriedAgain")
}
