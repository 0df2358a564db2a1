package dashboard

import (
	"context"
	"net/http"
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

type batchesBody struct {
	Batches batchesView
	// Tree holds the same batches, those that are nested in another of the page below it.
	Tree   []batchNode
	Parent int64
	Cursor string
}

func (h *handler) batchesPage(w http.ResponseWriter, r *request) error {
	limit, err := r.limit()
	if err != nil {
		return err
	}
	parent, err := r.positive("parent")
	if err != nil {
		return err
	}
	cursor := r.query("cursor")
	batches, err := h.readBatches(r.Context(), limit, cursor, parent)
	if err != nil {
		return err
	}
	watch := ""
	if cursor == "" {
		watch = strings.TrimPrefix(here(r), "/")
	}
	return h.section(w, r, "batches", watch, batchesBody{batches, treeOfBatches(batches.Batches), parent, cursor})
}

// treeOfBatches puts batches below those of them that they are nested in, and keeps their order otherwise.
func treeOfBatches(batches []batchView) []batchNode {
	inside := map[int64][]batchView{}
	here := map[int64]bool{}
	for _, b := range batches {
		here[b.ID] = true
	}
	var roots []batchView
	for _, b := range batches {
		if here[b.Parent] && b.Parent < b.ID { // always so, and what keeps the tree from growing for ever
			inside[b.Parent] = append(inside[b.Parent], b)
		} else {
			roots = append(roots, b)
		}
	}
	return nodesOf(roots, inside)
}

func nodesOf(batches []batchView, inside map[int64][]batchView) []batchNode {
	nodes := make([]batchNode, len(batches))
	for i, b := range batches {
		nodes[i] = batchNode{Batch: b, Nested: nodesOf(inside[b.ID], inside)}
	}
	return nodes
}

// batchNode is a batch in the tree of those nested in it.
type batchNode struct {
	Batch  batchView
	Nested []batchNode
}

type batchBody struct {
	Batch      batchView
	Nested     []batchNode
	MoreNested bool
	// Members are the newest of those in the state that is worth looking at first.
	Members      []jobView
	MembersState driver.State
}

const (
	nestedDepth  = 4
	nestedNodes  = 40
	membersShown = 10
)

func (h *handler) batchPage(w http.ResponseWriter, r *request) error {
	ctx := r.Context()
	id, err := r.id()
	if err != nil {
		return err
	}
	batch, err := h.readBatch(ctx, id)
	if err != nil {
		return err
	}
	body := batchBody{Batch: batch}
	if nested := batch.NestedBatches; nested != nil {
		left := nestedNodes - len(nested.Batches)
		body.MoreNested = nested.Next != ""
		if body.Nested, err = h.nested(ctx, nested.Batches, nestedDepth, &left); err != nil {
			return err
		}
	}
	for _, state := range []driver.State{driver.Failed, driver.Processing, driver.Enqueued, driver.Throttled, driver.Scheduled, driver.Awaiting, driver.Succeeded} {
		if batch.Counts[state] == 0 {
			continue
		}
		members, err := h.readJobs(ctx, listQuery{State: state, Batch: id, Limit: membersShown})
		if err != nil {
			return err
		}
		body.Members, body.MembersState = members.Jobs, state
		break
	}
	language := languageOf(r.Request, h.pages.options.Language)
	heading := batch.Description
	if heading == "" {
		heading = language.text("batch.name", "id", plain(id))
	}
	return h.show(w, r, http.StatusOK, "batch", frame{
		Heading: heading, Section: "batches", Watch: "batches/" + r.param("id"), Body: body,
	})
}

// nested reads what is nested in batches, down to a depth and as long as there is room.
func (h *handler) nested(ctx context.Context, batches []batchView, depth int, left *int) ([]batchNode, error) {
	nodes := make([]batchNode, len(batches))
	for i, batch := range batches {
		nodes[i].Batch = batch
		if batch.Nested == 0 || depth == 0 || *left <= 0 {
			continue
		}
		inner, err := h.readBatches(ctx, min(*left, 10), "", batch.ID)
		if err != nil {
			return nil, err
		}
		*left -= len(inner.Batches)
		if nodes[i].Nested, err = h.nested(ctx, inner.Batches, depth-1, left); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}
