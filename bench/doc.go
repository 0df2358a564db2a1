// Command bench measures kiln beside its peers and beside the floor: bare statements that do the same work on the same database
// with nothing around them.
//
//	go run ./bench -quick                              # three rounds of small sizes, in about two minutes
//	go run ./bench                                     # five rounds, full sizes
//	go run ./bench -systems postgres -scenarios drain  # systems by name or database, scenarios by their first letters
//	go run ./bench -scale all                          # what must not grow with the store
//	go run ./bench -scale backlog -scale-size 10000000 # the same for a larger one
//	go run ./bench -pages 1000000                      # the pages of the dashboard over a large store
//
// PostgreSQL is the server at -postgres, $KILN_POSTGRES or the loopback address, where a superuser may create databases. Redis is a
// private server, started for the run. A database that cannot be reached is left out, in capitals, unless it was asked for.
//
// # Rules
//
// Systems take turns within a round, in an order that rotates, each on a fresh database, after a CHECKPOINT. Between the filling
// and the drain of a PostgreSQL database stands VACUUM ANALYZE, for all systems, in the place of the autovacuum that runs in
// databases which are older than a second. The table shows medians with ranges, and ratios against kiln; machines are shared and
// noisy, so only ratios of one run mean anything.
//
// A drain ends when the last job's end is stored, not when the last handler has run. One that takes longer than 20 s, a
// minute under a pinned horizon, is cut (-quick: 0.6 s and 2 s): its speed is that of the jobs that ran, and the table says which part
// of them that was. The full form takes some hours for all systems.
//
// Costs per job: CPU time of the database's backends on this machine (of Redis, of the server), background processes left out; CPU time
// of this process, handlers and the bench included; bytes of the whole server's write-ahead log, so nobody else may use it
// meanwhile; what this process allocated. Databases inside of the process have no server, and their CPU time is the client's.
//
// # Settings
//
// Args are 240 bytes of JSON. Commits are durable: synchronous_commit is what the server has, and printed; SQLite is at
// synchronous=NORMAL everywhere unless -synchronous says otherwise; Redis is at appendfsync=everysec, so what it acknowledges is not
// durable yet.
//
//   - River: a pool of 16 connections, InsertManyFast for many and Insert for one. On SQLite one connection, busy_timeout 5000,
//     _txlock=immediate, at most 2,000 jobs a call. Tuned: FetchCooldown 1 ms, FetchPollInterval 50 ms, on SQLite 10 ms.
//   - Asynq: as many tasks at once as workers; it has no call for many, so 32 callers insert them; it keeps no job that succeeded; an
//     empty queue is looked into every 5 ms instead of every second.
//   - Floor: see floor_sqlite.go and floor_postgres.go.
//
// Everything that is printed goes to results/DATE-TIME-FORM.txt as well, every number of every round to a .csv beside it, and the
// points of each graph of -scale to one of its own.
package main
