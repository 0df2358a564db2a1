package dashboard

import "github.com/kilnjobs/kiln/driver"

// stripe is one part of a bar that shows how the members of a batch are spread over the states.
type stripe struct {
	State    driver.State
	Count    int64
	X, Width int
}

// stripeWidth is how many units wide a whole bar is.
const stripeWidth = 1000

// progressOrder puts what is done on the left and what has not begun on the right.
var progressOrder = []driver.State{
	driver.Succeeded, driver.Deleted, driver.Failed, driver.Processing, driver.Enqueued, driver.Throttled, driver.Scheduled, driver.Awaiting,
}

// stripesOf spreads the members of a batch over its bar. A state with members is never too narrow to be seen.
func stripesOf(b *batchView) []stripe {
	var total int64
	for _, n := range b.Counts {
		total += n
	}
	var stripes []stripe
	x := 0
	for _, state := range progressOrder {
		n := b.Counts[state]
		if n == 0 {
			continue
		}
		width := max(int(n*stripeWidth/total), 8)
		stripes = append(stripes, stripe{State: state, Count: n, X: x, Width: width})
		x += width
	}
	widest := -1
	for i := range stripes {
		if widest < 0 || stripes[i].Width > stripes[widest].Width {
			widest = i
		}
	}
	if widest >= 0 {
		stripes[widest].Width += stripeWidth - x
		for i := widest + 1; i < len(stripes); i++ {
			stripes[i].X += stripeWidth - x
		}
	}
	return stripes
}

// Done is the part of a batch that has succeeded or was deleted, in percent, of all that ever joined.
func (b batchView) Done() int64 {
	if b.Total == 0 {
		if b.Finished {
			return 100
		}
		return 0
	}
	live := int64(0)
	for state, n := range b.Counts {
		if state.Live() {
			live += n
		}
	}
	return (b.Total - live) * 100 / b.Total
}
