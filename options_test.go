package kiln_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

type email struct{ To string }

func (email) Kind() string { return "send_email" }

// badKind carries whatever kind a test gives it.
type badKind struct{ kind string }

func (b badKind) Kind() string { return b.kind }

// unencodable fails to encode.
type unencodable struct{}

func (unencodable) Kind() string                 { return "unencodable" }
func (unencodable) MarshalJSON() ([]byte, error) { return nil, errEncode }

var errEncode = errors.New("no JSON today")

// large encodes to more than the limit.
type large struct{ S string }

func (large) Kind() string { return "large" }

// defaulted brings options and a title of its own.
type defaulted struct{}

func (defaulted) Kind() string  { return "defaulted" }
func (defaulted) Title() string { return "from the args" }
func (defaulted) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.Queue("slow"), kiln.Tags{"a", "b"}, kiln.Meta{"k": "args", "only": "args"}, kiln.MaxAttempts(3)}
}

// capture returns a client whose inserts land in the returned slice instead of the store.
func capture(t *testing.T) (*kiln.Client, *[]driver.InsertParams) {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	var got []driver.InsertParams
	c := kiln.NewClient(store, func(next kiln.EnqueueFunc) kiln.EnqueueFunc {
		return func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			got = append(got, jobs...)
			return next(ctx, w, jobs)
		}
	})
	return c, &got
}

func TestOptionsReachTheStore(t *testing.T) {
	c, got := capture(t)
	at := time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC)
	end := time.Date(2100, 1, 2, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	_, err := c.Enqueue(t.Context(), email{To: "a"},
		nil, kiln.Queue("mail"), kiln.Priority(7), kiln.Delay(time.Hour), kiln.At(at), kiln.MaxAttempts(4),
		kiln.Timeout(time.Minute), kiln.Tags{"x", "y"}, kiln.Tags{"y", "z"}, kiln.Title("t1"), kiln.Title("t2"),
		kiln.Meta{"a": "1", "b": "1"}, kiln.Meta{"b": "2"}, kiln.Deadline(end))
	if err != nil {
		t.Fatal(err)
	}
	want := driver.InsertParams{
		Kind: "send_email", Queue: "mail", Args: []byte(`{"To":"a"}`), Priority: 7, RunAt: at, MaxAttempts: 4,
		Timeout: time.Minute, Tags: []string{"x", "y", "z"}, Title: "t2",
		Meta:     map[string]string{"a": "1", "b": "2", "kiln.deadline": "2100-01-02T02:04:05.000006Z"},
		Deadline: end,
	}
	if !reflect.DeepEqual((*got)[0], want) {
		t.Errorf("got  %+v\nwant %+v", (*got)[0], want)
	}
}

func TestDefaultsOfAJob(t *testing.T) {
	c, got := capture(t)
	if _, err := c.Enqueue(t.Context(), email{}); err != nil {
		t.Fatal(err)
	}
	want := driver.InsertParams{Kind: "send_email", Queue: "default", Args: []byte(`{"To":""}`), MaxAttempts: 10}
	if !reflect.DeepEqual((*got)[0], want) {
		t.Errorf("got  %+v\nwant %+v", (*got)[0], want)
	}
}

func TestArgsBringOptionsThatTheCallOverrides(t *testing.T) {
	c, got := capture(t)
	_, err := c.EnqueueMany(t.Context(),
		kiln.Spec{Args: defaulted{}},
		kiln.Spec{Args: defaulted{}, Options: []kiln.InsertOption{kiln.Queue("fast"), kiln.Tags{"b", "c"}, kiln.Meta{"k": "call"}, kiln.Title("")}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := (*got)[0], (*got)[1]
	if first.Queue != "slow" || first.Title != "from the args" || first.MaxAttempts != 3 {
		t.Errorf("args' own options: %+v", first)
	}
	if second.Queue != "fast" || !reflect.DeepEqual(second.Tags, []string{"a", "b", "c"}) ||
		!reflect.DeepEqual(second.Meta, map[string]string{"k": "call", "only": "args"}) || second.Title != "" {
		t.Errorf("call's options over the args': %+v", second)
	}
}

func TestDelayAndAtReplaceEachOther(t *testing.T) {
	c, got := capture(t)
	at := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, opts := range [][]kiln.InsertOption{
		{kiln.At(at), kiln.Delay(time.Minute)}, {kiln.Delay(time.Minute), kiln.At(at)}, {kiln.Delay(-time.Minute)}, {kiln.At(time.Time{})},
	} {
		if _, err := c.Enqueue(t.Context(), email{}, opts...); err != nil {
			t.Fatal(err)
		}
	}
	type when struct {
		at    time.Time
		delay time.Duration
	}
	want := []when{{delay: time.Minute}, {at: at}, {}, {}}
	for i, w := range want {
		if p := (*got)[i]; !p.RunAt.Equal(w.at) || p.Delay != w.delay {
			t.Errorf("case %d: RunAt %v Delay %v, want %+v", i, p.RunAt, p.Delay, w)
		}
	}
}

// TestInvalidInput pins that each bad value is refused with the sentinel, the field, the value and the bound, and that nothing
// is stored, its valid siblings included.
func TestInvalidInput(t *testing.T) {
	tags := func(n int) kiln.Tags {
		out := make(kiln.Tags, n)
		for i := range out {
			out[i] = "t" + strings.Repeat("x", i)
		}
		return out
	}
	meta := func(n, size int) kiln.Meta {
		m := kiln.Meta{}
		for i := range n {
			m["k"+strings.Repeat("i", i)] = strings.Repeat("v", size)
		}
		return m
	}
	var nilArgs *email
	long := strings.Repeat("q", 65)
	for _, c := range []struct {
		name  string
		args  kiln.Args
		opt   kiln.InsertOption
		is    error
		texts []string
	}{
		{"nil args", nil, nil, kiln.ErrInvalid, []string{"Args is nil"}},
		{"nil pointer args", nilArgs, nil, kiln.ErrInvalid, []string{"Args is nil"}},
		{"empty kind", badKind{""}, nil, kiln.ErrInvalid, []string{"Kind is empty"}},
		{"kind begins with a digit", badKind{"1a"}, nil, kiln.ErrInvalid, []string{`Kind "1a"`, "begin with a letter"}},
		{"kind with a space", badKind{"a b"}, nil, kiln.ErrInvalid, []string{`Kind "a b"`, `' '`}},
		{"kind of 129 bytes", badKind{strings.Repeat("k", 129)}, nil, kiln.ErrInvalid, []string{"129 bytes", "128"}},
		{"args do not encode", unencodable{}, nil, errEncode, []string{"encode Args"}},
		{"args over 1 MiB", large{strings.Repeat("x", 1<<20)}, nil, kiln.ErrTooLarge, []string{"Args", "1048584", "1048576"}},
		{"empty queue", email{}, kiln.Queue(""), kiln.ErrInvalid, []string{"Queue is empty"}},
		{"queue with capitals", email{}, kiln.Queue("Mail"), kiln.ErrInvalid, []string{`Queue "Mail"`, "'M'"}},
		{"queue is a path", email{}, kiln.Queue(".."), kiln.ErrInvalid, []string{`Queue ".."`}},
		{"queue of 65 bytes", email{}, kiln.Queue(long), kiln.ErrInvalid, []string{"65 bytes", "64"}},
		{"no attempts", email{}, kiln.MaxAttempts(0), kiln.ErrInvalid, []string{"MaxAttempts 0", "below 1"}},
		{"negative attempts", email{}, kiln.MaxAttempts(-3), kiln.ErrInvalid, []string{"MaxAttempts -3"}},
		{"33 tags", email{}, tags(33), kiln.ErrTooLarge, []string{"Tags has 33", "32"}},
		{"empty tag", email{}, kiln.Tags{"a", ""}, kiln.ErrInvalid, []string{"Tags has an empty label"}},
		{"tag of 65 bytes", email{}, kiln.Tags{long}, kiln.ErrInvalid, []string{"Tags", "65 bytes", "64"}},
		{"65 meta keys", email{}, meta(65, 1), kiln.ErrTooLarge, []string{"Meta has 65 keys", "64"}},
		{"meta over 16 KiB", email{}, meta(1, 16<<10), kiln.ErrTooLarge, []string{"Meta has 16385 bytes", "16384"}},
		{"empty meta key", email{}, kiln.Meta{"": "v"}, kiln.ErrInvalid, []string{"empty key", `"v"`}},
		{"NUL in meta", email{}, kiln.Meta{"k": "a\x00b"}, kiln.ErrInvalid, []string{"Meta value", "NUL"}},
		{"broken UTF-8 in meta", email{}, kiln.Meta{"k": "\xff"}, kiln.ErrInvalid, []string{"Meta value", "UTF-8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := memstore.New()
			defer store.Close()
			client := kiln.NewClient(store)
			_, err := client.EnqueueMany(t.Context(), kiln.Spec{Args: email{}}, kiln.Spec{Args: c.args, Options: []kiln.InsertOption{c.opt}})
			if !errors.Is(err, c.is) {
				t.Fatalf("error %v does not wrap %v", err, c.is)
			}
			for _, text := range c.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not contain %q", err, text)
				}
			}
			if n, _ := store.Counts(t.Context()); n != (driver.Counts{}) {
				t.Errorf("something was stored: %+v", n)
			}
		})
	}
}

func TestValuesAtTheBound(t *testing.T) {
	c, _ := capture(t)
	tags := make(kiln.Tags, 32)
	meta := kiln.Meta{}
	for i := range tags {
		tags[i] = strings.Repeat("t", 32+i)
	}
	tags[0] = strings.Repeat("u", 64)
	for i := range 64 {
		meta[strings.Repeat("k", i+1)] = ""
	}
	for _, o := range []kiln.InsertOption{
		kiln.Queue(strings.Repeat("q", 64)), kiln.Queue("a-z.0_9:"), kiln.MaxAttempts(1), kiln.MaxAttempts(math.MaxInt32), tags, meta,
		kiln.Meta{"k": strings.Repeat("v", 16<<10-1)}, kiln.Priority(math.MaxInt16), kiln.Priority(math.MinInt16), kiln.Title("\xff\x00"),
	} {
		if _, err := c.Enqueue(t.Context(), email{}, o); err != nil {
			t.Errorf("%T: %v", o, err)
		}
	}
	if _, err := c.Enqueue(t.Context(), badKind{"K" + strings.Repeat("k", 127)}); err != nil {
		t.Error(err)
	}
	if _, err := c.Enqueue(t.Context(), large{strings.Repeat("x", 1<<20-8)}); err != nil {
		t.Error(err)
	}
}

func TestNothingToEnqueue(t *testing.T) {
	c, _ := capture(t)
	if out, err := c.EnqueueMany(t.Context()); out != nil || err != nil {
		t.Errorf("EnqueueMany() = %v, %v", out, err)
	}
	if _, err := c.EnqueueTx(t.Context(), nil, email{}); !errors.Is(err, driver.ErrNilTx) {
		t.Errorf("EnqueueTx on nil: %v", err)
	}
	if _, err := c.EnqueueManyTx(t.Context(), nil); !errors.Is(err, driver.ErrNilTx) {
		t.Errorf("EnqueueManyTx on nil: %v", err)
	}
}

func TestUnknownOptionPanics(t *testing.T) {
	type foreign struct{ kiln.InsertOption }
	c, _ := capture(t)
	defer func() {
		if recover() == nil {
			t.Error("an option from outside of the package was taken")
		}
	}()
	_, _ = c.Enqueue(t.Context(), email{}, foreign{})
}
