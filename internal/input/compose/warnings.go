package compose

import (
	"io"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

// logging guards the standard logger of logrus, to which compose-go writes warnings: one import at a time uses it.
var logging sync.Mutex

// warnings collects the warnings of compose-go, such as that a variable is not set.
type warnings struct{ texts []string }

func (*warnings) Levels() []logrus.Level {
	return []logrus.Level{logrus.WarnLevel, logrus.ErrorLevel}
}

func (w *warnings) Fire(entry *logrus.Entry) error {
	// compose-go warns only of the first one in the first file; variables without a value are reported together
	if !strings.Contains(entry.Message, "`version` is obsolete") &&
		!strings.Contains(entry.Message, "variable is not set") {
		w.texts = append(w.texts, entry.Message)
	}
	return nil
}

// listen collects warnings until the returned function is called.
func (w *warnings) listen() (stop func()) {
	logging.Lock()
	logger := logrus.StandardLogger()
	out, level := logger.Out, logger.GetLevel()
	hooks := logger.ReplaceHooks(logrus.LevelHooks{})
	logger.AddHook(w)
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.WarnLevel)
	return func() {
		logger.ReplaceHooks(hooks)
		logger.SetOutput(out)
		logger.SetLevel(level)
		logging.Unlock()
	}
}
