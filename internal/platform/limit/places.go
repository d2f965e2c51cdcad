package limit

import (
	"context"
	"sync"
	"time"
)

// Places bound how much each key does at once. Create them with NewPlaces.
type Places struct {
	most int
	wait time.Duration

	mu sync.Mutex
	of map[string]*places
}

// places are the places of one key.
type places struct {
	taken chan struct{}
	users int // callers that have a place, or wait for one
}

// waiting is the number of callers that wait for each place.
const waiting = 4

// NewPlaces returns Places with most places for each key. Four times as many callers may wait for one, each at most
// wait.
func NewPlaces(most int, wait time.Duration) *Places {
	return &Places{most: most, wait: wait, of: map[string]*places{}}
}

// Enter takes a place until leave is called. ok is false if it got none.
func (p *Places) Enter(ctx context.Context, key string) (leave func(), ok bool) {
	mine := p.join(key)
	if mine == nil {
		return nil, false
	}
	select {
	case mine.taken <- struct{}{}:
	default:
		ctx, cancel := context.WithTimeout(ctx, p.wait)
		defer cancel()
		select {
		case mine.taken <- struct{}{}:
		case <-ctx.Done():
			p.part(key, mine)
			return nil, false
		}
	}
	return sync.OnceFunc(func() {
		<-mine.taken
		p.part(key, mine)
	}), true
}

// join counts a caller for a key's places. It returns nil if too many already wait.
func (p *Places) join(key string) *places {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := p.of[key]
	if mine == nil {
		mine = &places{taken: make(chan struct{}, p.most)}
		p.of[key] = mine
	}
	if mine.users >= (1+waiting)*p.most {
		return nil
	}
	mine.users++
	return mine
}

func (p *Places) part(key string, mine *places) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(p.of, key)
	}
}
