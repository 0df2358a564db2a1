package kiln_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

func TestServerConfigRefuses(t *testing.T) {
	pool := func(p kiln.Pool) kiln.ServerConfig { return kiln.ServerConfig{Pools: []kiln.Pool{p}} }
	q := []string{"a", "b"}
	for text, cfg := range map[string]kiln.ServerConfig{
		"PollInterval -1ns is below 0":             {PollInterval: -1},
		"PollInterval 1µs is below 1ms":            {PollInterval: time.Microsecond},
		"FetchBatch -1 is below 0":                 {FetchBatch: -1},
		"ShutdownTimeout -1s is below 0":           {ShutdownTimeout: -time.Second},
		"KillGrace -1s is below 0":                 {KillGrace: -time.Second},
		"HeartbeatInterval -1s is below 0":         {HeartbeatInterval: -time.Second},
		"HeartbeatInterval 1µs is below 1ms":       {HeartbeatInterval: time.Microsecond},
		"DeadAfter -1s is below 0":                 {DeadAfter: -time.Second},
		"DeadAfter 24.999s is below 3*Heartbeat":   {DeadAfter: 25*time.Second - time.Millisecond},
		"DeadAfter 1m0s is below":                  {HeartbeatInterval: 20 * time.Second},
		"LeaderTTL -1s is below 0":                 {LeaderTTL: -time.Second},
		"LeaderTTL 1ns is below 1ms":               {LeaderTTL: 1},
		"UnknownKindTTL -1s is below 0":            {UnknownKindTTL: -time.Second},
		"pool 0 has no Queues":                     pool(kiln.Pool{Workers: 1}),
		`pool 0 of queue "a" has 0 Workers`:        pool(kiln.Pool{Queues: q}),
		`pool 0: kiln: invalid: Queue "A"`:         pool(kiln.Pool{Queues: []string{"A"}, Workers: 1}),
		`queue "a" is in pool 0 and in pool 0`:     pool(kiln.Pool{Queues: []string{"a", "a"}, Workers: 1}),
		`weight for queue "c", which is not in`:    pool(kiln.Pool{Queues: q, Workers: 1, Weights: map[string]int{"c": 1}}),
		`gives queue "a" the weight 0, below 1`:    pool(kiln.Pool{Queues: q, Workers: 1, Weights: map[string]int{"a": 0}}),
		`queue "a" is in pool 0 and in pool 1`:     {Pools: []kiln.Pool{{Queues: q, Workers: 1}}, Queues: map[string]int{"a": 1}},
		`pool 0 of queue "a" has -1 Workers, belo`: {Queues: map[string]int{"a": -1}},
	} {
		store := memstore.New()
		m := kiln.NewMux()
		m.HandleFunc("k", nothing)
		_, err := kiln.NewServer(kiln.NewClient(store), m, cfg)
		if !errors.Is(err, kiln.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v does not wrap ErrInvalid with %q", err, text)
		}
		m.HandleFunc("other", nothing) // a refused configuration has not frozen the mux
		store.Close()
	}
}

func TestNewServerRefusesNothing(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	m := kiln.NewMux()
	for name, f := range map[string]func() (*kiln.Server, error){
		"nil client": func() (*kiln.Server, error) { return kiln.NewServer(nil, m, kiln.ServerConfig{}) },
		"nil mux":    func() (*kiln.Server, error) { return kiln.NewServer(kiln.NewClient(store), nil, kiln.ServerConfig{}) },
		"no handler": func() (*kiln.Server, error) { return kiln.NewServer(kiln.NewClient(store), m, kiln.ServerConfig{}) },
	} {
		if _, err := f(); !errors.Is(err, kiln.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerConfigTakesBounds(t *testing.T) {
	for _, cfg := range []kiln.ServerConfig{
		{},
		{PollInterval: time.Millisecond, HeartbeatInterval: time.Millisecond, LeaderTTL: time.Millisecond, FetchCooldown: -1, Timeout: kiln.NoTimeout},
		{HeartbeatInterval: 10 * time.Second, KillGrace: time.Second, DeadAfter: 36 * time.Second},
		{Retention: kiln.Retention{Succeeded: -1, Deleted: kiln.Forever, Failed: time.Hour}},
		{Pools: []kiln.Pool{{Queues: []string{"a", "b"}, Workers: 1, Weights: map[string]int{"a": 1}}}, Queues: map[string]int{"z": 1, "c": 2}},
	} {
		store := memstore.New()
		m := kiln.NewMux()
		m.HandleFunc("k", nothing)
		s, err := kiln.NewServer(kiln.NewClient(store), m, cfg)
		if err != nil {
			t.Errorf("%+v: %v", cfg, err)
			continue
		}
		if s.ID() != "" {
			t.Errorf("ID before Run: %q", s.ID())
		}
		if err := s.Healthy(); err == nil {
			t.Error("healthy before Run")
		}
		if len(cfg.Queues) > 0 && !reflect.DeepEqual(s.Stats(), kiln.Stats{Capacity: 4}) {
			t.Errorf("stats before Run: %+v", s.Stats())
		}
		store.Close()
	}
}
