package sqlitestore

import (
	"database/sql"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// noted is a history entry on its way to its job.
type noted struct {
	id    int64
	entry driver.Entry
}

// note appends to the history of one job.
func (w *work) note(id int64, e driver.Entry) error { return w.noteAll([]noted{{id, e}}) }

// noteAll appends to the histories of several jobs, one entry each. A history keeps its newest entries.
func (w *work) noteAll(entries []noted) error {
	if len(entries) == 0 {
		return nil
	}
	list := make([]byte, 0, 8*len(entries)+2)
	for i := range entries {
		list = appendID(list, entries[i].id)
	}
	last := map[int64]int64{}
	err := w.each("history_last", []any{closeIDs(list)}, func(rows *sql.Rows) error {
		var id, seq int64
		err := rows.Scan(&id, &seq)
		last[id] = seq
		return err
	})
	if err != nil {
		return err
	}
	const width = 10
	rows := make([]any, 0, width*len(entries))
	for i := range entries {
		e := &entries[i].entry
		rows = append(rows, entries[i].id, last[entries[i].id]+1, storekit.Micros(e.At), string(e.State), int64(e.Attempt),
			e.Reason, e.Server, e.Actor, e.Error, e.Trace)
	}
	if err := w.many("history_add", nil, width, rows); err != nil {
		return err
	}
	for id, seq := range last {
		if seq >= storekit.MaxHistory {
			if err := w.exec("history_trim", id, int64(storekit.MaxHistory)); err != nil {
				return err
			}
		}
	}
	return nil
}
