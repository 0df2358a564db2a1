// Package sqlitestore keeps kiln's jobs in a SQLite database.
//
//	db, err := sql.Open("sqlite", "file:jobs.db?_pragma=busy_timeout(5000)")
//	...
//	store, err := sqlitestore.New(ctx, db)
//
// Any database/sql driver for SQLite 3.38 or later will do; the package imports none. The pool needs a busy timeout in its
// data source name and at least two connections, four are recommended: the store keeps one of them for its own writes. New
// turns the database to WAL mode. The pool's own synchronous setting stays as it is: FULL makes every acknowledged job
// survive a power cut, NORMAL only a crash of the process.
//
// SQLite has one writer at a time. The store's writer merges what arrives while the transaction before it commits, so many
// callers together are much faster than one alone. An application's transaction that writes makes the store wait until it
// ends: keep such transactions short, begin them with BEGIN IMMEDIATE (_txlock=immediate in the data source name), insert
// jobs in them through [Store.Tx], and never call the store itself while the same goroutine holds one open, since that call
// would wait for the transaction that it keeps open.
//
// Several processes of one machine may share the file. A process sees what others wrote within about ten milliseconds. The
// file must not be replaced while stores are open on it: every later call then fails with driver.ErrGone.
package sqlitestore
