// Package pgstore keeps jobs in PostgreSQL 14 or later.
//
//	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
//	…
//	store, err := pgstore.New(ctx, pool)
//	…
//	client, err := kiln.New(store, kiln.Options{…})
//
// Jobs are rows of one schema, "kiln" unless [Schema] says otherwise. An application inserts them in its own transactions with
// [Store.Tx], or with [Store.SQLTx] when it uses database/sql, and calls Notify after the commit.
//
// The store works on a pool of its own, which it makes from the settings of the given one, so that neither starves the other:
// at most five connections, and one more that listens for what other processes tell. Behind a pooler in transaction mode use
// [ExecMode] with pgx.QueryExecModeExec, and [ListenConn] with an address that leads past the pooler.
package pgstore
