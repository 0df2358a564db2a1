// Package storekit helps people who write a kiln store.
//
// What is a pure function of its inputs is decided here once, for every database: the first state of a job, what an outcome
// means for the job that it ends, how history is kept, how text is cleaned, how pages are cut. A store reads rows, asks this
// package, and writes rows.
//
// [Statements] and [Migrator] keep SQL in files of its own.
package storekit
