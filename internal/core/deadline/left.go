package deadline

import "time"

// skew is the most that two clocks may differ while both count as right.
const skew = time.Minute

// Left returns how long a stored instant is still waited for, 0 if it has come. span is the longest time that it was
// ahead when it was stored: one that lies further ahead is of a wrong clock, and is not waited for.
func Left(at, now time.Time, span time.Duration) time.Duration {
	if left := at.Sub(now); left > 0 && left <= span+skew {
		return left
	}
	return 0
}
