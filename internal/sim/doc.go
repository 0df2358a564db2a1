// Package sim runs a whole cluster of servers in one goroutine, in virtual time, on a memory store, in an order that a seed
// decides: which loop plans next, when its call reaches the store, when the answer is heard, which job ends and how. Calls fail
// before or after they did their work, servers freeze past DeadAfter, die, stop and start, clocks run fast or slow, and clients
// insert, delete, requeue and pause meanwhile.
//
// Afterwards the faults end, and everything must come to rest: every job in a final state, every attempt within its bound,
// every server empty, the store consistent. The same seed gives the same run.
package sim
