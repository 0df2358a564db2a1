package drivertest

// pending lists the cases that are not written yet, with what each of them needs. Each appears as a skipped case, so that
// nobody takes a store for complete that was never asked.
var pending []struct{ group, name, needs string }
