package dashboard

// chart is a drawing of a series: what succeeded goes up from a zero line, what failed goes down from it, each to its own scale, so
// that a few failures show beside many successes.
type chart struct {
	Width, Height, Zero int
	Bars                []chartBar
	// Succeeded, Failed and Retried are sums, MostUp and MostDown the largest of one bar.
	Succeeded, Failed, Retried int64
	MostUp, MostDown           int64
}

type chartBar struct {
	pointView
	X, Width     int
	Up, Down     int
	UpY, DownY   int
	Whole, Slot  int
	FailedShown  bool
	SuccessShown bool
}

const (
	chartSlot = 12
	chartUp   = 96
	chartDown = 44
)

// chartOf draws a series. Its bars are whole numbers of units wide, and the page stretches it to its own width.
func chartOf(s *seriesView) *chart {
	c := &chart{
		Width: chartSlot * len(s.Points), Height: chartUp + chartDown, Zero: chartUp,
	}
	for _, p := range s.Points {
		c.MostUp, c.MostDown = max(c.MostUp, p.Succeeded), max(c.MostDown, p.Failed)
		c.Succeeded += p.Succeeded
		c.Failed += p.Failed
		c.Retried += p.Retried
	}
	for i, p := range s.Points {
		up, down := scaled(p.Succeeded, c.MostUp, chartUp-4), scaled(p.Failed, c.MostDown, chartDown-4)
		c.Bars = append(c.Bars, chartBar{
			pointView: p, X: i*chartSlot + 1, Width: chartSlot - 2, Slot: i * chartSlot, Whole: chartSlot,
			Up: up, UpY: chartUp - up, Down: down, DownY: chartUp + 1, SuccessShown: up > 0, FailedShown: down > 0,
		})
	}
	return c
}

// scaled is the height of a bar. Something is never drawn as nothing.
func scaled(n, most int64, height int) int {
	if n <= 0 || most <= 0 {
		return 0
	}
	return max(int(n*int64(height)/most), 2)
}
