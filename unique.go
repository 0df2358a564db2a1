package kiln

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/internal/engine"
)

// Unique lets at most one job hold a key at a time. A job whose key is held is not inserted: Enqueue returns the id of the holder, and
// EnqueueMany says so in its results.
type Unique struct {
	// Key is the key, inside of the job's kind. Empty means the encoded args, byte for byte: another order of fields is another key.
	Key string
	// For holds the key for that long after the insert, whatever becomes of the job. Zero, and a negative value, hold it until the
	// job has succeeded, failed or been deleted.
	For time.Duration
	// Replace lets a duplicate give the holder its args, meta, tags, title, priority, deadline and run time, as long as that has
	// not started.
	Replace bool
	// Debounce delays the job by as much, instead of Delay and At. A duplicate replaces the holder like Replace while that is
	// scheduled, and delays it anew. Zero, and a negative value, are no debounce. It excludes Replace.
	Debounce time.Duration
}

func (u Unique) insert(d *draft) error {
	if u.Replace && u.Debounce > 0 {
		return fmt.Errorf("%w: Unique has both Replace and Debounce %s", ErrInvalid, u.Debounce)
	}
	d.unique = &u
	return nil
}

// setUnique writes the key into the job, when its kind and args are known.
func (d *draft) setUnique() {
	u := d.unique
	if u == nil {
		return
	}
	key := []byte(u.Key)
	if len(key) == 0 {
		key = d.Args
	}
	d.UniqueKey = engine.UniqueKey(d.Kind, key)
	d.UniqueFor, d.UniqueReplace = max(u.For, 0), u.Replace
	if u.Debounce > 0 {
		d.UniqueDebounce = u.Debounce
		d.Delay, d.RunAt = u.Debounce, time.Time{}
	}
}
