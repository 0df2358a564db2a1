package memstore

import (
	"slices"
	"sort"
)

// key is where a row stands in a list: by a number (a run time, a finish time, a negated priority), then by id.
type key struct{ value, id int64 }

func (k key) less(o key) bool {
	if k.value != o.value {
		return k.value < o.value
	}
	return k.id < o.id
}

type entry struct {
	key
	row *row
}

// list keeps rows in the order of their keys. It is a sorted array, cut into blocks so that no change moves more than one
// block: rows come almost always at the end and go at the front, where both cost the same however long the list is.
type list struct {
	blocks [][]entry
	len    int
}

// blockSize is the most entries of one block.
const blockSize = 256

// block finds the block that holds k, or would: the first whose last entry is not below it, else the last one.
func (l *list) block(k key) int {
	last := len(l.blocks) - 1
	if last <= 0 || !l.blocks[0][len(l.blocks[0])-1].less(k) {
		return 0
	}
	if !k.less(l.blocks[last][0].key) {
		return last
	}
	return sort.Search(last, func(i int) bool {
		b := l.blocks[i]
		return !b[len(b)-1].less(k)
	})
}

// position finds where k stands, or would, inside of a block.
func position(block []entry, k key) int {
	if n := len(block); n == 0 || block[n-1].less(k) {
		return n
	}
	return sort.Search(len(block), func(i int) bool { return !block[i].less(k) })
}

// add puts a row into the list.
func (l *list) add(k key, r *row) {
	l.len++
	if len(l.blocks) == 0 {
		l.blocks = append(l.blocks, nil)
	}
	n := l.block(k)
	block := l.blocks[n]
	at := position(block, k)
	if len(block) < blockSize {
		l.blocks[n] = slices.Insert(block, at, entry{k, r})
		return
	}
	if at == blockSize {
		l.blocks = slices.Insert(l.blocks, n+1, append(make([]entry, 0, blockSize), entry{k, r}))
		return
	}
	half := slices.Clone(block[blockSize/2:])
	clear(block[blockSize/2:])
	l.blocks[n] = block[:blockSize/2]
	l.blocks = slices.Insert(l.blocks, n+1, half)
	if at > blockSize/2 {
		n, at = n+1, at-blockSize/2
	}
	l.blocks[n] = slices.Insert(l.blocks[n], at, entry{k, r})
}

// get returns the row at k, nil when there is none.
func (l *list) get(k key) *row {
	if len(l.blocks) == 0 {
		return nil
	}
	block := l.blocks[l.block(k)]
	if at := position(block, k); at < len(block) && block[at].key == k {
		return block[at].row
	}
	return nil
}

// remove takes the row at k out of the list and reports whether it was there.
func (l *list) remove(k key) bool {
	if l.get(k) == nil {
		return false
	}
	l.len--
	n := l.block(k)
	block := l.blocks[n]
	switch at := position(block, k); {
	case len(block) == 1 && n == 0:
		l.blocks[0] = nil
		l.blocks = l.blocks[1:]
	case len(block) == 1:
		l.blocks = slices.Delete(l.blocks, n, n+1)
	case at == 0:
		block[0] = entry{}
		l.blocks[n] = block[1:]
	default:
		l.blocks[n] = slices.Delete(block, at, at+1)
	}
	return true
}

// first returns the entry with the lowest key.
func (l *list) first() (entry, bool) {
	if len(l.blocks) == 0 {
		return entry{}, false
	}
	return l.blocks[0][0], true
}

// ascend calls yield for each row in order, beginning at the first key that is not below from, until it returns false. The
// list must not change meanwhile.
func (l *list) ascend(from key, yield func(entry) bool) {
	if len(l.blocks) == 0 {
		return
	}
	n := l.block(from)
	at := position(l.blocks[n], from)
	for ; n < len(l.blocks); n, at = n+1, 0 {
		for _, e := range l.blocks[n][at:] {
			if !yield(e) {
				return
			}
		}
	}
}

// descend is ascend in the other direction: it begins at the last key that is below from.
func (l *list) descend(from key, yield func(entry) bool) {
	if len(l.blocks) == 0 {
		return
	}
	n := l.block(from)
	at := position(l.blocks[n], from)
	for {
		for i := at - 1; i >= 0; i-- {
			if !yield(l.blocks[n][i]) {
				return
			}
		}
		if n--; n < 0 {
			return
		}
		at = len(l.blocks[n])
	}
}
