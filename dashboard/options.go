package dashboard

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Options says where a dashboard is mounted, and who may see and do what.
type Options struct {
	// Prefix is the path below which the handler is mounted, such as "/kiln"; empty is the root. A missing leading slash is added
	// and a trailing one dropped. It is needed for links also when http.StripPrefix takes it off the requests.
	Prefix string
	// Authorize says what a request may do. It is asked for every request, for those of assets and of unknown paths too, and again
	// at least once a minute while a page listens for events. What it does not allow, also by panicking, is denied. New panics
	// without it.
	Authorize func(*http.Request) Access
	// Redact changes what is shown of a job. It is given the kind of the job and one part of it, never an empty one, and returns
	// what to show instead; nil, or a panic, hides the part. Args, meta and output are JSON, and what it returns for them is shown
	// as text when it is not. The kind is empty for the meta of a batch. A nil Redact shows everything. It is called by many
	// goroutines at a time.
	Redact func(kind string, part Part, v []byte) []byte
	// Actor names who makes a request. The name stands in the history of the jobs that are requeued or deleted by it.
	Actor func(*http.Request) string
	// Title is what the pages are called; empty is "kiln".
	Title string
	// Language is the language of those who have not chosen one, such as "pt-BR". When it is empty, their browsers decide.
	Language string
	// TrustedOrigins are origins, such as "https://ops.example.com", from which requests may write although they are not those of
	// the Host header, as behind a proxy that rewrites it. New panics on one that is no origin.
	TrustedOrigins []string
}

// Access is what a request may do.
type Access uint8

const (
	// Denied may do nothing.
	Denied Access = 0
	// ReadOnly may look at everything.
	ReadOnly Access = 1
	// ReadWrite may also requeue, delete, pause, resume, trigger and remove.
	ReadWrite Access = 2
)

// Part is a part of a job that Redact is asked about.
type Part uint8

const (
	// PartArgs is a job's args, also those in the template of a recurring job: JSON.
	PartArgs Part = 0
	// PartMeta is the meta of a job or of a batch: a JSON object.
	PartMeta Part = 1
	// PartOutput is what a job left behind: JSON.
	PartOutput Part = 2
	// PartError is an attempt's error, or its stack trace: text.
	PartError Part = 3
	// PartConsole is one line of a job's console: text.
	PartConsole Part = 4
	// PartTitle is a job's title: text.
	PartTitle Part = 5
	// PartTags is one of a job's tags: text.
	PartTags Part = 6
)

var partNames = [...]string{"args", "meta", "output", "error", "console", "title", "tags"}

// String returns the part's name, and "unknown" for what is none.
func (p Part) String() string {
	if int(p) < len(partNames) {
		return partNames[p]
	}
	return "unknown"
}

// normalised fills in defaults, and panics on what cannot work.
func (o Options) normalised() Options {
	if o.Authorize == nil {
		panic("dashboard: New needs Options.Authorize, which says who may see the dashboard")
	}
	if o.Prefix = path.Clean("/" + o.Prefix); o.Prefix == "/" {
		o.Prefix = ""
	}
	if o.Title == "" {
		o.Title = "kiln"
	}
	o.TrustedOrigins = slices.Clone(o.TrustedOrigins)
	for i, origin := range o.TrustedOrigins {
		o.TrustedOrigins[i] = strings.ToLower(origin)
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("dashboard: Options.TrustedOrigins[%d]: %v", i, err))
		}
	}
	return o
}
