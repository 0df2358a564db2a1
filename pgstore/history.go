package pgstore

import (
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// noted is a history entry on its way to its job.
type noted struct {
	id    int64
	entry driver.Entry
}

// noteAll appends to the histories of jobs. A history keeps its newest entries.
func (w *work) noteAll(entries []noted) error {
	if len(entries) == 0 {
		return nil
	}
	n := len(entries)
	ids, at, attempts := make([]int64, n), make([]int64, n), make([]int32, n)
	text := make([]string, 6*n)
	states, reasons, servers, actors, errs, traces := text[:n], text[n:2*n], text[2*n:3*n], text[3*n:4*n], text[4*n:5*n], text[5*n:]
	for i := range entries {
		e := &entries[i].entry
		ids[i], at[i], attempts[i] = entries[i].id, storekit.Micros(e.At), int32(e.Attempt)
		states[i], reasons[i], servers[i], actors[i], errs[i], traces[i] = string(e.State), e.Reason, e.Server, e.Actor, e.Error, e.Trace
	}
	return w.exec("history_add", ids, at, attempts, states, reasons, servers, actors, errs, traces, storekit.MaxHistory)
}
