package storekit

import "github.com/kilnjobs/kiln/driver"

// CleanEntry makes an entry storable: text is cleaned and cut to size.
func CleanEntry(e driver.Entry) driver.Entry {
	e.Reason = Cut(CleanText(e.Reason), MaxReason)
	e.Error = Cut(CleanText(e.Error), MaxError)
	e.Trace = Cut(CleanText(e.Trace), MaxTrace)
	e.Server = CleanText(e.Server)
	e.Actor = Cut(CleanText(e.Actor), MaxReason)
	return e
}

// AppendHistory adds an entry and keeps the newest MaxHistory. It never writes into the array under history.
func AppendHistory(history []driver.Entry, e driver.Entry) []driver.Entry {
	if over := len(history) + 1 - MaxHistory; over > 0 {
		history = history[over:]
	}
	out := make([]driver.Entry, 0, len(history)+1)
	return append(append(out, history...), e)
}

// LastReason is the reason of the latest entry, empty without one.
func LastReason(history []driver.Entry) string {
	if len(history) == 0 {
		return ""
	}
	return history[len(history)-1].Reason
}
