// Package pgserver starts what the tests of pgstore break: real PostgreSQL servers of any version whose programs are here, a real
// PgBouncer, and a proxy that cuts connections, lets them stand still or takes them for lost.
//
// Servers live in folders of their own, on ports of their own, and end with the test. Where the programs are missing the test is
// skipped, and the reason is also added to the file that KILN_SKIPS names, so that a run of many tests can repeat it at its end.
package pgserver
