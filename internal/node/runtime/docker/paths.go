package docker

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/recovery"
)

// longestPath is the time in which a path of this machine must resolve.
const longestPath = 2 * time.Second

// hostPaths are the paths of this machine.
var hostPaths = &paths{follow: followPath}

// paths resolves paths to the folders they lead to. A path on a file system whose server is gone never answers, and no
// context ends the wait: such a path counts as unresolved, and nobody waits for it again until it answers.
type paths struct {
	follow func(string) string

	mu    sync.Mutex
	asked map[string]*answer
}

// answer is the target of a path.
type answer struct {
	there chan struct{} // closed once the answer is known
	to    string
	late  bool
}

func (p *paths) resolve(source string) string {
	at, late := p.ask(source)
	if late {
		return source
	}
	timer := time.NewTimer(longestPath)
	defer timer.Stop()
	select {
	case <-at.there:
		return at.to
	case <-timer.C:
		p.mu.Lock()
		at.late = true
		p.mu.Unlock()
		return source
	}
}

// ask resolves a path, unless that is under way, and reports whether the answer is late.
func (p *paths) ask(source string) (at *answer, late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at = p.asked[source]; at != nil {
		return at, at.late
	}
	if p.asked == nil {
		p.asked = map[string]*answer{}
	}
	at = &answer{there: make(chan struct{})}
	p.asked[source] = at
	recovery.Go(func() {
		at.to = p.follow(source)
		p.mu.Lock()
		delete(p.asked, source)
		p.mu.Unlock()
		close(at.there)
	})
	return at, false
}

// followPath returns the folder a path leads to; empty for a file.
func followPath(source string) string {
	if info, err := os.Stat(source); err == nil && !info.IsDir() {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(source); err == nil {
		return resolved
	}
	return source
}
