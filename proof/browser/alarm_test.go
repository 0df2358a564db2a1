//go:build unix

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// alarm collects what a tab complains of.
type alarm struct {
	mu       sync.Mutex
	expected []string
	heard    []string
}

// expect takes complaints with this text for intended.
func (a *alarm) expect(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expected = append(a.expected, text)
}

func (a *alarm) complain(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	for _, e := range a.expected {
		if strings.Contains(text, e) {
			return
		}
	}
	a.heard = append(a.heard, text)
}

// complaints returns what has come in since the last call.
func (a *alarm) complaints() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	heard := a.heard
	a.heard = nil
	return heard
}

// reportViolations makes a page say on its console what its policy has refused, wherever that came from.
const reportViolations = `document.addEventListener("securitypolicyviolation", e =>
	console.error("content security policy: " + e.violatedDirective + " refuses " + e.blockedURI + " " + e.sample))`

// listen begins to collect what the tab of ctx reports.
func (a *alarm) listen(ctx context.Context) error {
	if err := chromedp.Listen(ctx, func(event any) { a.hear(ctx, event) }); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{}); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: reportViolations})
	return err
}

func (a *alarm) hear(ctx context.Context, event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		switch e.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
			a.complain("console.%s: %s", e.Type, said(e.Args))
		}
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		a.complain("exception: %s at %s:%d", text, d.URL, d.LineNumber+1)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			a.complain("log: %s %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			details, _ := json.Marshal(e.Issue.Details)
			a.complain("content security policy: %s", details)
		}
	case *page.EventJavascriptDialogOpening:
		a.complain("dialog: %s %q", e.Type, e.Message)
		// The page waits for an answer, which must not be given from here.
		go func() { _, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	}
}

func said(args []*runtime.RemoteObject) string {
	var parts []string
	for _, arg := range args {
		if len(arg.Value) > 0 {
			parts = append(parts, string(arg.Value))
		} else {
			parts = append(parts, arg.Description)
		}
	}
	return strings.Join(parts, " ")
}
