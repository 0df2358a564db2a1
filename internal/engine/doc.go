// Package engine runs jobs: it is the inside of a kiln.Server.
//
// A server is a set of loops. Each loop is a small struct with a Plan, which decides under the server's lock what to ask the
// store, a call, which asks it without any lock, and an apply, which takes the answer in under the lock again and says when
// to plan next. The goroutine around a loop is the function drive, a dozen lines; the simulator in internal/sim calls the
// three phases itself, of many servers in one goroutine, in an order that a seed decides.
//
// What the loops share is in Server: the table of jobs that it holds, the pools that run them, and the outbox of results
// that wait to be written.
package engine
