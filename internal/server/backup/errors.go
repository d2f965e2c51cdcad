package backup

import "errors"

var (
	// ErrNoBackup: the stream isn't a backup of Tend's.
	ErrNoBackup = errors.New("this is not a backup of Tend's: name a file that `tend backup` wrote")
	// ErrDamaged means that bytes of the backup were changed, or its end is missing.
	ErrDamaged = errors.New("the backup is damaged or cut off")
	// ErrVersion: a newer Tend wrote it.
	ErrVersion = errors.New("a newer version of Tend wrote this backup")
)
