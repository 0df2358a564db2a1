package kiln_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// What follows does not compile when an exported identifier is missing or has another type. Programs that were written for the
// package must go on building.

// Constants.
var (
	_ string                = kiln.DefaultQueue
	_ [10]int               = [kiln.DefaultMaxAttempts]int{}
	_ time.Duration         = kiln.Forever
	_ kiln.Timeout          = kiln.NoTimeout
	_ map[kiln.State]bool   = map[driver.State]bool{kiln.Awaiting: true, kiln.Scheduled: true, kiln.Throttled: true, kiln.Enqueued: true}
	_ map[driver.State]bool = map[kiln.State]bool{kiln.Processing: true, kiln.Succeeded: true, kiln.Failed: true, kiln.Deleted: true}
)

// Aliases.
var (
	_ driver.State     = kiln.State("")
	_ driver.Record    = kiln.Record{}
	_ driver.Entry     = kiln.Entry{}
	_ driver.Inserted  = kiln.Inserted{}
	_ driver.Filter    = kiln.Filter{}
	_ driver.JobQuery  = kiln.JobQuery{}
	_ driver.Page      = kiln.Page{}
	_ driver.Retention = kiln.Retention{}
)

// Args, specs and options.
var (
	_ interface{ Kind() string } = kiln.Args(nil)
	_ kiln.Args                  = interface{ Kind() string }(nil)
	_                            = kiln.Spec{Args: kiln.Args(nil), Options: []kiln.InsertOption{}}

	_ = []kiln.InsertOption{
		kiln.Queue(""), kiln.Priority(int16(0)), kiln.Delay(time.Duration(0)), kiln.At(time.Time{}), kiln.MaxAttempts(int(0)),
		kiln.Timeout(time.Duration(0)), kiln.Tags([]string{}), kiln.Title(""), kiln.Meta(map[string]string{}), kiln.Deadline(time.Time{}),
		kiln.Unique{Key: "", For: time.Duration(0), Replace: false, Debounce: time.Duration(0)},
		kiln.Limit{Key: "", Max: int(0), Rate: int(0), Per: time.Duration(0), Burst: int(0)},
		kiln.After([]int64{}), kiln.AfterFinished([]int64{}), kiln.AfterFailed([]int64{}), kiln.AfterDeleted([]int64{}),
		kiln.AfterBatch(int64(0)), kiln.InBatch(int64(0)), kiln.Needs([]int{}),
	}
	_ = []kiln.HandleOption{kiln.Timeout(0), kiln.Backoff(nil)}

	_ = []kiln.RecurringOption{
		kiln.TZ(""), kiln.Misfire(uint8(0)), kiln.Overlap(false), kiln.Queue(""), kiln.Priority(0), kiln.MaxAttempts(0), kiln.Timeout(0),
		kiln.Tags{}, kiln.Meta{}, kiln.Limit{},
	}
	_ = []kiln.Misfire{kiln.MisfireOnce, kiln.MisfireAll, kiln.MisfireSkip}
	_ = kiln.RecurringSpec{ID: "", Spec: "", Args: kiln.Args(nil), Options: []kiln.RecurringOption{}}
)

// Flows and batches.
var (
	_ []kiln.Spec                                                                    = kiln.Flow(nil)
	_ func(*kiln.Flow, kiln.Args, ...kiln.InsertOption) int                          = (*kiln.Flow).Add
	_                                                                                = kiln.Batch{Description: "", Meta: map[string]string{}, Parent: int64(0)}
	_ func(*kiln.Batch, kiln.Args, ...kiln.InsertOption)                             = (*kiln.Batch).Add
	_ func(*kiln.Batch, kiln.Args, ...kiln.InsertOption)                             = (*kiln.Batch).Then
	_ func(*kiln.Batch, *kiln.Batch)                                                 = (*kiln.Batch).AddBatch
	_ func(*kiln.Batch) int                                                          = (*kiln.Batch).Len
	_ func(*kiln.Client, context.Context, *kiln.Batch) (int64, error)                = (*kiln.Client).StartBatch
	_ func(*kiln.Client, context.Context, driver.Writer, *kiln.Batch) (int64, error) = (*kiln.Client).StartBatchTx
	_ func(*kiln.Client, context.Context, *kiln.Batch) (int64, error)                = (*kiln.Client).OpenBatch
	_ func(*kiln.Client, context.Context, int64) error                               = (*kiln.Client).SealBatch
	_ func(*kiln.Job[task], context.Context) (map[int64]json.RawMessage, error)      = (*kiln.Job[task]).ParentOutputs
)

// Client.
var (
	_ func(driver.Store, ...kiln.EnqueueMiddleware) *kiln.Client                                         = kiln.NewClient
	_ func(context.Context, driver.Writer, []driver.InsertParams) ([]driver.Inserted, error)             = kiln.EnqueueFunc(nil)
	_ func(kiln.EnqueueFunc) kiln.EnqueueFunc                                                            = kiln.EnqueueMiddleware(nil)
	_ func(*kiln.Client) driver.Store                                                                    = (*kiln.Client).Store
	_ func(*kiln.Client, context.Context, kiln.Args, ...kiln.InsertOption) (int64, error)                = (*kiln.Client).Enqueue
	_ func(*kiln.Client, context.Context, driver.Writer, kiln.Args, ...kiln.InsertOption) (int64, error) = (*kiln.Client).EnqueueTx
	_ func(*kiln.Client, context.Context, ...kiln.Spec) ([]kiln.Inserted, error)                         = (*kiln.Client).EnqueueMany
	_ func(*kiln.Client, context.Context, driver.Writer, ...kiln.Spec) ([]kiln.Inserted, error)          = (*kiln.Client).EnqueueManyTx
	_ func(*kiln.Client, context.Context, ...int64) (int, error)                                         = (*kiln.Client).Delete
	_ func(*kiln.Client, context.Context, ...int64) (int, error)                                         = (*kiln.Client).Requeue
	_ func(*kiln.Client, context.Context, kiln.Filter) (int, error)                                      = (*kiln.Client).DeleteWhere
	_ func(*kiln.Client, context.Context, kiln.Filter) (int, error)                                      = (*kiln.Client).RequeueWhere
	_ func(*kiln.Client, context.Context, string) error                                                  = (*kiln.Client).PauseQueue
	_ func(*kiln.Client, context.Context, string) error                                                  = (*kiln.Client).ResumeQueue
	_ func(*kiln.Client, context.Context, int64) (kiln.Record, error)                                    = (*kiln.Client).Get
	_ func(*kiln.Client, context.Context, kiln.JobQuery) (kiln.Page, error)                              = (*kiln.Client).List
)

// Recurring jobs.
var (
	_ func(*kiln.Client, context.Context, string, string, kiln.Args, ...kiln.RecurringOption) error = (*kiln.Client).SetRecurring
	_ func(*kiln.Client, context.Context, string, ...kiln.RecurringSpec) error                      = (*kiln.Client).SyncRecurring
	_ func(*kiln.Client, context.Context, string) error                                             = (*kiln.Client).RemoveRecurring
	_ func(*kiln.Client, context.Context, string) error                                             = (*kiln.Client).PauseRecurring
	_ func(*kiln.Client, context.Context, string) error                                             = (*kiln.Client).ResumeRecurring
	_ func(*kiln.Client, context.Context, string) (int64, error)                                    = (*kiln.Client).TriggerRecurring
)

// Backoff.
var (
	_ func(int, error) time.Duration                  = kiln.Backoff(nil)
	_ func(time.Duration, time.Duration) kiln.Backoff = kiln.Exponential
	_ func(time.Duration) kiln.Backoff                = kiln.Constant
	_ func(...time.Duration) kiln.Backoff             = kiln.Delays
)

// Mux, handlers and jobs.
var (
	_ func(context.Context, *kiln.RawJob) error                                           = kiln.HandlerFunc(nil)
	_ func(kiln.HandlerFunc) kiln.HandlerFunc                                             = kiln.Middleware(nil)
	_ func() *kiln.Mux                                                                    = kiln.NewMux
	_ func(*kiln.Mux, ...kiln.Middleware)                                                 = (*kiln.Mux).Use
	_ func(*kiln.Mux, string, kiln.HandlerFunc, ...kiln.HandleOption)                     = (*kiln.Mux).HandleFunc
	_ func(*kiln.Mux, func(context.Context, *kiln.Job[task]) error, ...kiln.HandleOption) = kiln.Handle[task]
	_ *kiln.Job[json.RawMessage]                                                          = (*kiln.RawJob)(nil)
	_ func(*kiln.Job[task], any) error                                                    = (*kiln.Job[task]).SetOutput
	_ func(*kiln.Job[task]) json.RawMessage                                               = (*kiln.Job[task]).Output
	_ func(*kiln.Job[task], string, any) (bool, error)                                    = (*kiln.Job[task]).Param
	_ func(*kiln.Job[task], context.Context, string, any) error                           = (*kiln.Job[task]).SetParam
	_ func(*kiln.Job[task], string, ...any)                                               = (*kiln.Job[task]).Logf
	_ func(*kiln.Job[task], int)                                                          = (*kiln.Job[task]).SetProgress
	_ func(context.Context) (*kiln.Client, bool)                                          = kiln.ClientFrom
	_ func(context.Context) (*kiln.RawJob, bool)                                          = kiln.JobFrom
	_                                                                                     = kiln.Job[task]{
		ID: int64(0), Kind: "", Queue: "", Priority: int16(0), Attempt: int(0), MaxAttempts: int(0), CreatedAt: time.Time{}, RunAt: time.Time{},
		BatchID: int64(0), RecurringID: "", Parents: []int64{}, Meta: map[string]string{}, Tags: []string{}, Title: "", Args: task{},
	}
)

// Server.
var (
	_ func(*kiln.Client, *kiln.Mux, kiln.ServerConfig) (*kiln.Server, error) = kiln.NewServer
	_ func(*kiln.Server, context.Context) error                              = (*kiln.Server).Run
	_ func(*kiln.Server) string                                              = (*kiln.Server).ID
	_ func(*kiln.Server) kiln.Stats                                          = (*kiln.Server).Stats
	_ func(*kiln.Server) error                                               = (*kiln.Server).Healthy

	_ = kiln.Stats{
		Running: int(0), Capacity: int(0), Claimed: uint64(0), Succeeded: uint64(0), Failed: uint64(0), Retried: uint64(0), Snoozed: uint64(0),
		Canceled: uint64(0), Abandoned: uint64(0), Stale: uint64(0), Busy: uint64(0), EmptyFetches: uint64(0), Pending: int(0),
		HeartbeatAge: time.Duration(0), Leader: false, Fenced: false, Listening: false, Stuck: int(0),
	}
	_ = kiln.Pool{Queues: []string{}, Workers: int(0), Weights: map[string]int{}}
	_ = kiln.ServerConfig{
		Queues: map[string]int{}, Pools: []kiln.Pool{}, Name: "", PollInterval: time.Duration(0), FetchCooldown: time.Duration(0),
		FetchBatch: int(0), ShutdownTimeout: time.Duration(0), KillGrace: time.Duration(0), Timeout: kiln.Timeout(0), Backoff: kiln.Backoff(nil),
		HeartbeatInterval: time.Duration(0), DeadAfter: time.Duration(0), LeaderTTL: time.Duration(0), Retention: kiln.Retention{},
		DisableMaintenance: false, Logger: (*slog.Logger)(nil), UnknownKindTTL: time.Duration(0),
	}
)

// Errors.
var (
	_ = []error{
		kiln.ErrPermanent, kiln.ErrCanceled, kiln.ErrSnoozed, kiln.ErrTimeout, kiln.ErrShutdown,
		kiln.ErrNotFound, kiln.ErrInvalid, kiln.ErrTooLarge, kiln.ErrLost, kiln.ErrClosed, kiln.ErrConflict, kiln.ErrUnknown,
	}
	_ func(error) error         = kiln.Permanent
	_ func(error) error         = kiln.Cancel
	_ func(time.Duration) error = kiln.Snooze
	_ error                     = (*kiln.PanicError)(nil)
	_                           = kiln.PanicError{Value: any(nil), Stack: []byte(nil)}
)

// apiToCome are the identifiers that belong to what is not built yet.
var apiToCome = map[string][]string{}

// exported returns the package's exported identifiers, methods as Type.Method.
func exported(t *testing.T) map[string]bool {
	names := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			for _, n := range declared(d) {
				if ast.IsExported(n[strings.LastIndex(n, ".")+1:]) && ast.IsExported(n) {
					names[n] = true
				}
			}
		}
	}
	return names
}

// declared returns what a declaration declares.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		recv := d.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		if generic, ok := recv.(*ast.IndexExpr); ok {
			recv = generic.X
		}
		return []string{recv.(*ast.Ident).Name + "." + d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// TestAPIIsListed pins that the list above is complete, and that what was to come leaves the table when it has come.
func TestAPIIsListed(t *testing.T) {
	text, err := os.ReadFile("api_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := exported(t)
	for n := range names {
		_, method, _ := strings.Cut(n, ".")
		listed := `kiln\.` + n + `\b`
		if method != "" {
			listed = `\)\.` + method + `\b`
		}
		if method != "Error" && !regexp.MustCompile(listed).Match(text) {
			t.Errorf("%s is exported and not listed", n)
		}
	}
	if len(names) < 80 {
		t.Errorf("only %d exported identifiers were found", len(names))
	}
	for what, list := range apiToCome {
		for _, n := range list {
			if names[n] {
				t.Errorf("%s (%s) has come: list it with its type", n, what)
			}
		}
	}
}

// TestAPI pins what a compiler does not: values of constants, and that the struct types have no fields but those listed here, so
// that a new one is added above too.
func TestAPI(t *testing.T) {
	if kiln.DefaultQueue != "default" || kiln.Forever != -1 || kiln.NoTimeout != -1 || kiln.Awaiting != "awaiting" || kiln.Deleted != "deleted" {
		t.Error("a constant has another value")
	}
	for v, fields := range map[any]int{
		reflect.TypeFor[kiln.Stats](): 18, reflect.TypeFor[kiln.ServerConfig](): 17, reflect.TypeFor[kiln.Pool](): 3,
		reflect.TypeFor[kiln.PanicError](): 2, reflect.TypeFor[kiln.Spec](): 2, reflect.TypeFor[kiln.RawJob](): 16,
		reflect.TypeFor[kiln.Unique](): 4, reflect.TypeFor[kiln.Limit](): 5,
	} {
		if typ := v.(reflect.Type); typ.NumField() != fields {
			t.Errorf("%s has %d fields, the list above %d", typ, typ.NumField(), fields)
		}
	}
	for name, kind := range map[reflect.Type]reflect.Kind{
		reflect.TypeFor[kiln.Queue](): reflect.String, reflect.TypeFor[kiln.Priority](): reflect.Int16, reflect.TypeFor[kiln.Delay](): reflect.Int64,
		reflect.TypeFor[kiln.MaxAttempts](): reflect.Int, reflect.TypeFor[kiln.Timeout](): reflect.Int64, reflect.TypeFor[kiln.Title](): reflect.String,
		reflect.TypeFor[kiln.Tags](): reflect.Slice, reflect.TypeFor[kiln.Meta](): reflect.Map, reflect.TypeFor[kiln.At](): reflect.Struct,
		reflect.TypeFor[kiln.Deadline](): reflect.Struct, reflect.TypeFor[kiln.After](): reflect.Slice, reflect.TypeFor[kiln.Needs](): reflect.Slice,
		reflect.TypeFor[kiln.AfterFinished](): reflect.Slice, reflect.TypeFor[kiln.AfterFailed](): reflect.Slice,
		reflect.TypeFor[kiln.AfterDeleted](): reflect.Slice, reflect.TypeFor[kiln.AfterBatch](): reflect.Int64, reflect.TypeFor[kiln.InBatch](): reflect.Int64,
		reflect.TypeFor[kiln.Flow](): reflect.Slice,
	} {
		if name.Kind() != kind {
			t.Errorf("%s is a %s, want a %s", name, name.Kind(), kind)
		}
	}
}
