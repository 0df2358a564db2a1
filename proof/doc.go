// Package proof holds tests that need more than a released module may require: the SQLite store on other drivers, real processes, the
// dashboard in a browser.
package proof
