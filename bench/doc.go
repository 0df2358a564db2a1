// Command bench measures kiln beside its peers and beside the floor: bare statements that do the same work on the same database
// with nothing around them.
//
//	go run ./bench -quick                     # three rounds of 10,000 jobs, in about two minutes
//	go run ./bench                            # five rounds, full sizes
//	go run ./bench -scale 1000000             # what must not grow with the store
//	go run ./bench -systems kiln-sqlite,floor-sqlite -scenarios drain
//
// Systems take turns within a round, in an order that rotates, each on a fresh database. The table shows medians with ranges, and
// ratios against kiln; machines are shared and noisy, so only ratios of one run mean anything.
package main
