package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Check looks for what must never be: a job in no state or in two, rows of jobs that are gone, counters that do not add up.
// It changes nothing, reads whole tables, and is meant for tests and for operators in doubt. What transactions of applications have
// brought and the store has not taken in yet counts as if it had.
func (s *Store) Check(ctx context.Context) error {
	var found error
	err := s.snapshot(ctx, func(r *reader) error {
		if err := r.exec("check_settings"); err != nil {
			return err
		}
		found = r.check()
		return nil
	})
	return errors.Join(found, err)
}

// check is Check on a connection.
func (r *reader) check() error {
	var found []error
	for _, check := range []struct {
		name string
		args []any
	}{
		{name: "check_one_state"},
		{name: "check_state_rows"},
		{"check_flags", []any{int32(flagMeta), int32(flagOutput)}},
		{"check_own_flags", []any{int32(flagLimit), int32(flagDeadline), int32(flagUnique)}},
		{name: "check_deadlines"},
		{name: "check_strays"},
		{"check_waits", []any{int32(driver.OnFailed)}},
		{"check_flow_flags", []any{int32(flagChildren), int32(flagBatch), int32(flagParents)}},
		{name: "check_batches"},
		{"check_history", []any{int64(storekit.MaxHistory)}},
		{name: "check_counters"},
		{name: "check_uniques"},
		{"check_keys", []any{int32(flagUnique)}},
		{"check_limits", []any{int32(flagGranted)}},
		{"check_granted", []any{int32(flagGranted), int32(flagLimit)}},
		{name: "check_waiting"},
	} {
		err := r.each(check.name, check.args, func(rows rows) error {
			var id int64
			var what string
			err := rows.Scan(&id, &what)
			found = append(found, fmt.Errorf("pgstore: check: job %d: %s", id, what)) // job 0 is none
			return err
		})
		if err != nil {
			return errors.Join(append(found, err)...)
		}
	}
	return errors.Join(found...)
}
