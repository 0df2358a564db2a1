package pgstore

// payloads are the columns of new rows of jobs. What a job does not have is nil.
type payloads struct {
	ids, timeouts       []int64
	queues, kinds       []string
	priorities          []int16
	attempts, flags     []int32
	args                [][]byte
	deadlines, batches  []*int64
	after               []*int64
	limits, recurring   []*string
	titles, tags, metas []*string
	parents             []*string
	uniques             [][]byte
}

func newPayloads(n int) *payloads {
	return &payloads{
		ids: make([]int64, 0, n), timeouts: make([]int64, 0, n), queues: make([]string, 0, n), kinds: make([]string, 0, n),
		priorities: make([]int16, 0, n), attempts: make([]int32, 0, n), flags: make([]int32, 0, n), args: make([][]byte, 0, n),
		deadlines: make([]*int64, 0, n), batches: make([]*int64, 0, n), after: make([]*int64, 0, n), limits: make([]*string, 0, n),
		recurring: make([]*string, 0, n), titles: make([]*string, 0, n), tags: make([]*string, 0, n), metas: make([]*string, 0, n),
		parents: make([]*string, 0, n), uniques: make([][]byte, 0, n),
	}
}

func (p *payloads) add(d *draft) {
	p.ids, p.timeouts = append(p.ids, d.id), append(p.timeouts, d.timeout)
	p.queues, p.kinds = append(p.queues, d.queue), append(p.kinds, d.kind)
	p.priorities, p.attempts, p.flags = append(p.priorities, d.priority), append(p.attempts, d.maxAttempts), append(p.flags, d.flags)
	p.args = append(p.args, d.args)
	p.recurring, p.titles = append(p.recurring, textOrNull(&d.recurring)), append(p.titles, textOrNull(&d.title))
	p.tags, p.metas = append(p.tags, textOrNull(&d.tags)), append(p.metas, textOrNull(&d.meta))
	var deadline, batch, after *int64
	var limit, parents *string
	var unique []byte
	if d.deadline != 0 {
		deadline = &d.deadline
	}
	if d.wait != nil {
		batch, after = idOrNull(&d.wait.batch), idOrNull(&d.wait.after)
		if len(d.wait.deps.List) > 0 {
			list := arrayText(d.wait.deps.IDs())
			parents = &list
		}
	}
	if d.limited != nil {
		limit = &d.limited.key
	}
	if d.flags&flagUnique != 0 {
		unique = d.keyed.key
	}
	p.deadlines, p.batches, p.after = append(p.deadlines, deadline), append(p.batches, batch), append(p.after, after)
	p.limits, p.parents, p.uniques = append(p.limits, limit), append(p.parents, parents), append(p.uniques, unique)
}

func textOrNull(s *string) *string {
	if *s == "" {
		return nil
	}
	return s
}

func idOrNull(id *int64) *int64 {
	if *id == 0 {
		return nil
	}
	return id
}
