package manifest

import (
	"errors"
	"fmt"
	"maps"

	"tend.dev/tend/api"
)

// maxEnvFile bounds an env file.
const maxEnvFile = 1 << 20

// readEnvFiles adds the values of the files to env and removes the field, which the server never gets. Later files
// override earlier ones, and inline values override all files.
func (l *loader) readEnvFiles(d *draft) bool {
	files, _ := d.spec["env_file"].([]any)
	delete(d.spec, "env_file")
	if len(files) == 0 {
		return true
	}
	before := l.faults.count()
	merged := map[string]any{}
	for i, file := range files {
		path, err := l.path(d.src, file.(string))
		if err == nil {
			err = readEnvFile(path, merged)
		}
		if err != nil {
			here := fmt.Sprintf("env_file[%d]", i)
			fault := d.diagnose(api.FieldError{Object: d.object.Ref().String(), Field: here, Detail: err.Error()})
			l.faults.add(fault)
		}
	}
	maps.Copy(merged, envOf(d.spec))
	if len(merged) > 0 {
		d.spec["env"] = merged
	}
	return l.faults.count() == before
}

func readEnvFile(path string, into map[string]any) error {
	text, err := readFile(path, maxEnvFile)
	if err != nil {
		return err
	}
	env, err := parseEnv(string(text))
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	for name, value := range env {
		into[name] = value
	}
	return nil
}

var errNoPair = errors.New("the line is not NAME=value")

// parseEnv parses an env_file; see ParseDotenv.
func parseEnv(text string) (map[string]string, error) {
	return parsePairs(text, errNoPair, api.CheckEnv)
}

// envOf returns the environment of a decoded spec.
func envOf(spec map[string]any) map[string]any {
	env, _ := spec["env"].(map[string]any)
	if env == nil {
		env = map[string]any{}
	}
	return env
}
