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

// Account is the part of a budget in use by one job of a key, until it is closed.
type Account struct {
	of    *Budget
	key   string
	taken int64
}

// Open returns an empty account of a key.
func (b *Budget) Open(key string) *Account { return &Account{of: b, key: key} }

// Take adds bytes to the account. It returns false if the budget has too few.
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

// Close returns the account's part to the budget.
func (a *Account) Close() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.of.held -= a.taken
	if a.of.of[a.key] -= a.taken; a.of.of[a.key] == 0 {
		delete(a.of.of, a.key)
	}
	a.taken = 0
}
