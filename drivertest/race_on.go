//go:build race

package drivertest

// slowdown stretches the budgets of the suite under the race detector.
const slowdown = 4
