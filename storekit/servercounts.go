package storekit

// Counts are what a transaction adds to the statistics of a server.
type Counts struct{ Succeeded, Failed, Deleted, Retried int64 }

// ServerCounts are Counts by server; what no server did, such as operators' deletions, is that of the empty one. The zero value is
// empty.
type ServerCounts map[string]*Counts

// Add counts n jobs.
func (s *ServerCounts) Add(server string, stat Stat, n int64) {
	if stat == NoStat || n == 0 {
		return
	}
	if *s == nil {
		*s = ServerCounts{}
	}
	c := (*s)[server]
	if c == nil {
		c = &Counts{}
		(*s)[server] = c
	}
	switch stat {
	case StatSucceeded:
		c.Succeeded += n
	case StatFailed:
		c.Failed += n
	case StatDeleted:
		c.Deleted += n
	case StatRetried:
		c.Retried += n
	}
}

// Clone is a copy that stays as it is when s grows.
func (s ServerCounts) Clone() ServerCounts { return cloneEach(s) }

// cloneEach copies a map with what its values point to.
func cloneEach[M ~map[K]*V, K comparable, V any](m M) M {
	if m == nil {
		return nil
	}
	out := make(M, len(m))
	for key, value := range m {
		v := *value
		out[key] = &v
	}
	return out
}
