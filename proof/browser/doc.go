// Package browser holds the tests that look at the dashboard as people do: in Chromium, with the keyboard and the mouse. Whatever a page reports
// fails them: an error on its console, a violation of its content security policy, an exception, a dialog, an answer of 500. It only has tests.
//
// KILN_CHROMIUM names the browser, otherwise the usual names are looked for; where there is none the tests are skipped, and say so in the file
// that KILN_SKIPS names. KILN_SHOTS names a folder for screenshots of all pages.
package browser
