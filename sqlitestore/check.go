package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Check looks for what must never be: a job in no state or in two, rows of jobs that are gone, counters that do not add up.
// It changes nothing, reads whole tables, and is meant for tests and for operators in doubt.
func (s *Store) Check(ctx context.Context) error {
	var found []error
	err := s.snapshot(ctx, func(r *reader) error {
		found = nil
		for _, check := range []struct {
			name string
			args []any
		}{
			{name: "check_one_state"},
			{name: "check_state_rows"},
			{"check_flags", []any{int64(flagMeta), int64(flagOutput)}},
			{name: "check_deadlines"},
			{name: "check_strays"},
			{"check_waits", []any{int64(driver.OnFailed)}},
			{"check_flow_flags", []any{int64(flagChildren), int64(flagBatch), int64(flagParents)}},
			{name: "check_batches"},
			{"check_history", []any{int64(storekit.MaxHistory)}},
			{name: "check_counters"},
			{name: "check_uniques"},
			{"check_keys", []any{int64(flagUnique)}},
			{"check_limits", []any{int64(flagGranted)}},
			{"check_granted", []any{int64(flagGranted), int64(flagLimit)}},
			{"check_waiting", nil},
		} {
			err := r.each(check.name, check.args, func(rows *sql.Rows) error {
				var id int64
				var what string
				err := rows.Scan(&id, &what)
				found = append(found, fmt.Errorf("sqlitestore: check: job %d: %s", id, what)) // job 0 is none
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(append(found, err)...)
}
