// Package proof holds tests that need more than a released module may require: the SQLite store on other drivers.
package proof
