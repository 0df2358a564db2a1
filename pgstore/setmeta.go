package pgstore

import (
	"context"
	"maps"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// SetMeta implements driver.Worker.
func (s *Store) SetMeta(ctx context.Context, ref driver.Ref, meta map[string]string) error {
	if err := driver.CheckMeta(meta); err != nil {
		return err
	}
	lost := false
	err := s.do(ctx, func(w *work) error {
		// Locked by a statement of its own: one that waits for the lock reads other rows as they were before.
		locked, err := w.list("lease_lock", ref.ID, ref.Claim)
		lost = len(locked) == 0
		if err != nil || lost || len(meta) == 0 {
			return err
		}
		var old string
		if _, err := w.one("meta_of", []any{ref.ID}, &old); err != nil {
			return err
		}
		merged := storekit.DecodeMeta([]byte(old))
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, meta)
		text, err := storekit.EncodeMeta(merged)
		if err != nil {
			return err
		}
		if err := w.exec("meta_put", ref.ID, text); err != nil {
			return err
		}
		return w.exec("lease_flags", ref.ID, int32(flagMeta))
	})
	if err == nil && lost {
		return storekit.Lost(ref)
	}
	return err
}
