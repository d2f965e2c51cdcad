package limit

import "sync"

// Budget bounds the bytes that all keys hold at once, and each of them. Create it with NewBudget.
type Budget struct {
	total, each int64

	mu   sync.Mutex
	held int64
	of   map[string]int64
}

// NewBudget returns a Budget of a total, of which a key may hold at most each.
func NewBudget(total, each int64) *Budget {
	return &Budget{total: total, each: each, of: map[string]int64{}}
}

// Held returns the bytes that all hold.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Account holds the part of a budget that one of a key's works uses, until it is closed.
type Account struct {
	of    *Budget
	key   string
	taken int64
}

// Open returns an account of a key, which holds nothing.
func (b *Budget) Open(key string) *Account { return &Account{of: b, key: key} }

// Take has the account hold more bytes. It is false if there are too few.
func (a *Account) Take(bytes int64) bool {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	if a.of.held+bytes > a.of.total || a.of.of[a.key]+bytes > a.of.each {
		return false
	}
	a.of.held += bytes
	a.of.of[a.key] += bytes
	a.taken += bytes
	return true
}

// Close returns what the account holds.
func (a *Account) Close() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.of.held -= a.taken
	if a.of.of[a.key] -= a.taken; a.of.of[a.key] == 0 {
		delete(a.of.of, a.key)
	}
	a.taken = 0
}
