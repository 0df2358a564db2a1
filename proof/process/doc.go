// Package process holds tests of real processes on one SQLite file: killed, stopped, frozen, and shut down while their handlers
// ignore it. It only has tests.
package process
