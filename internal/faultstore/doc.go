// Package faultstore puts faults between a server and its store, for tests and for the simulator.
//
// A [Store] wraps another one and asks a [Rule] before each call what goes wrong with it: it may fail before it reaches the
// store, so that nothing happened; after it, so that it happened but nobody hears of it; be late; or hang until it is
// released, as with a frozen process or a dead connection. Each wrapper is one server's view of the store, with rules of its
// own, while all of them share what is inside.
package faultstore
