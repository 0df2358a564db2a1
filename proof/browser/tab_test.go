//go:build unix

package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a test waits for what it expects to see.
const patience = 15 * time.Second

// tab is one person's window on the dashboard at a root address.
type tab struct {
	*testing.T
	ctx   context.Context
	root  string
	alarm *alarm
	// clicks counts how often the mouse was clicked.
	clicks int
}

// open opens a tab on an address below which all paths are. When the test ends, nothing may have been complained of.
func open(t *testing.T, root string) *tab {
	t.Helper()
	ctx, closed := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext())
	p := &tab{T: t, ctx: ctx, root: strings.TrimSuffix(root, "/"), alarm: &alarm{}}
	t.Cleanup(func() {
		for _, text := range p.alarm.complaints() {
			t.Errorf("the browser complains: %s", text)
		}
		closed()
	})
	if err := p.alarm.listen(ctx); err != nil {
		t.Fatal(err)
	}
	p.speak("en")
	return p
}

// speak says which languages the person reads.
func (p *tab) speak(languages string) {
	p.Helper()
	call(p, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": languages}})
}

// call sends a command of the browser's protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.Helper()
	out, err := chromedp.Call(p.ctx, command, params)
	if err != nil {
		p.Fatalf("%s: %v", command.Method, err)
	}
	return out
}

// do runs actions and ends the test when they do not come to an end.
func (p *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := p.try(actions...); err != nil {
		p.Fatalf("%s: %v\non %s", what, err, p.describe())
	}
}

func (p *tab) try(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// get runs an action that reads.
func get[T any](p *tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// describe says where the tab is and what it shows, for the message of a failure.
func (p *tab) describe() string {
	at, _ := get(p, chromedp.Location())
	text, err := get(p, chromedp.Text(chromedp.CSS("body")))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s:\n%.3000s", at, text)
}

// visit goes to a path below the root.
func (p *tab) visit(path string) {
	p.Helper()
	p.do("go to "+path, chromedp.Navigate(p.root+path), chromedp.WaitReady(chromedp.CSS("body")))
}

// click clicks on what is seen.
func (p *tab) click(selector string) {
	p.Helper()
	p.clicks++
	p.do("click "+selector, chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// leave clicks on something that leads to another page, and waits for that.
func (p *tab) leave(selector string) {
	p.Helper()
	p.clicks++
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector))); err != nil {
		p.Fatalf("follow %s: %v\non %s", selector, err, p.describe())
	}
}

// arrives waits until the tab is at a path and its scripts have begun.
func (p *tab) arrives(path string) {
	p.Helper()
	p.await("page "+path, func() bool { return p.path() == path })
	p.sees("#help:not([hidden])") // the script shows it
}

// press presses keys one after the other, wherever the focus is. A key whose press the page takes for itself types nothing, as on a
// keyboard; the events that chromedp.KeyEvent sends would type it all the same.
func (p *tab) press(keys string) {
	p.Helper()
	for _, key := range keys {
		events := kb.Encode(key)
		down, up := *events[0], *events[len(events)-1]
		if len(events) == 3 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		call(p, input.DispatchKeyEvent, down)
		call(p, input.DispatchKeyEvent, up)
	}
}

// sees waits until something is shown.
func (p *tab) sees(selector string) {
	p.Helper()
	p.do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// reads waits until the text that is shown at selector holds all the words.
func (p *tab) reads(selector string, words ...string) {
	p.Helper()
	p.await(fmt.Sprintf("%q at %s", words, selector), func() bool {
		text, err := get(p, chromedp.Text(chromedp.CSS(selector)))
		if err != nil {
			return false
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// eval returns what a script's expression comes to.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	out, err := get(p, chromedp.Evaluate[T](expression))
	if err != nil {
		p.Fatalf("evaluate %s: %v\non %s", expression, err, p.describe())
	}
	return out
}

// path is where the tab is, below the root, with its query.
func (p *tab) path() string {
	p.Helper()
	at, err := get(p, chromedp.Location())
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimPrefix(at, p.root)
}

// await polls until what is expected holds.
func (p *tab) await(what string, seen func() bool) {
	p.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !seen(); <-tick.C {
		if time.Since(begin) > patience {
			p.Fatalf("there was no %s\non %s", what, p.describe())
		}
	}
}
