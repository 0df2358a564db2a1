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
		var flags int32
		var old string
		found, err := w.one("meta_of", []any{ref.ID, ref.Claim}, &flags, &old)
		lost = !found
		if err != nil || lost || len(meta) == 0 {
			return err
		}
		merged := decodeMeta([]byte(old))
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, meta)
		text, err := encodeMeta(merged)
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
