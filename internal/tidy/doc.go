// Package tidy holds the rules of this repository and checks them as a test.
//
// A [Rule] reads a [Tree] of files and returns what breaks it. TestRepository runs every rule on the checkout; each rule also
// has a test that plants a violation and expects it to be found, so that no rule passes because it looks at nothing.
//
// The tables of who may import whom are in imports.go.
package tidy
