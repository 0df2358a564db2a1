// Package driver is the contract between kiln and the place where jobs are kept.
//
// An application does not need it, apart from the few types that package kiln re-exports. It is for people who write a
// store: implement [Store], run drivertest.Run and drivertest.RunClock against it, and every part of kiln works on it.
//
// # Guarantees that hold for the whole contract
//
//   - Every method is safe for concurrent use by many goroutines, servers and processes.
//   - Errors wrap the sentinels of this package where one fits, so errors.Is works on whatever a store returns.
//   - A store has one clock, read by Now. Every instant that a store stamps (created, run at, attempted, finalized,
//     history, heartbeat, started, batch created and finished, console line) lies, within a millisecond, between a Now read
//     before the call and one read after it. Instants given (RunAt, NextRunAt, LastRunAt, StartedAt) come back equal to the
//     microsecond. Every instant is returned in UTC.
//   - What a call did is visible to the next call of anybody: states, counts, statistics, leases, limit counters.
//   - Values come back as they were given: args equal byte for byte, tags in order, meta without keys of the store's own,
//     timeouts in milliseconds.
//   - Queue names, kinds, keys, ids and tags compare byte for byte: case, accents and trailing spaces distinguish.
//   - A limit of 0 or less counts as 1 in Promote, Orphans, Sweep and Due, as 20 in Jobs and Batches (at most 500), as 100
//     in Logs and Limits, and as 1000 in Prune.
//   - An ability that a store does not have yet is an error wrapping errors.ErrUnsupported in writers; readers then answer
//     empty or [ErrNotFound].
//
// After v1 the methods of these interfaces never change; new abilities are optional interfaces, and struct types may gain
// fields.
package driver
