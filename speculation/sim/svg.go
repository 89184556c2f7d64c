package sim

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Drawn is one line of a picture.
type Drawn struct {
	Label string
	*Metrics
}

// WriteSVG draws the turnaround distributions of runs with the same number of
// workers, as the share of changes decided within so many times the first run's
// median, and a table of the ratios. It follows the reader's light or dark
// setting. The same runs make the same picture.
func WriteSVG(out io.Writer, title string, groups [][]Drawn) error {
	var p picture
	height := p.layout(title, groups)
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>%s</title>
<style>%s</style>
<rect class="page" width="100%%" height="100%%"/>
%s</svg>
`, pictureWidth, height, pictureWidth, height, html.EscapeString(title), pictureStyle, p.b.String())
	return err
}

const (
	pictureWidth = 960
	margin       = 32
	plotLeft     = 56
	plotWidth    = pictureWidth - plotLeft - margin
	plotHeight   = 300
	rowHeight    = 22
)

// The colours keep their distance in both settings and for colour-blind readers
// (Okabe and Ito's palette, darker and lighter); lines differ in dashes too.
const pictureStyle = `
.page{fill:#fff}text{fill:#1f2328}.dim{fill:#59636e}.grid{stroke:#d1d9e0;stroke-width:1}.line{fill:none;stroke-width:2.2}
.head{font-weight:600}.num{text-anchor:end;font-variant-numeric:tabular-nums}.bad{fill:#cf222e;font-weight:600}
.c0{stroke:#57606a}.c1{stroke:#0072b2}.c2{stroke:#d55e00}.c3{stroke:#00795a}.c4{stroke:#b0508c}.c5{stroke:#b58900}.c6{stroke:#2aa1c0}.c7{stroke:#6f42c1}
@media (prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.dim{fill:#9198a1}.grid{stroke:#30363d}.bad{fill:#ff7b72}
.c0{stroke:#9198a1}.c1{stroke:#56b4e9}.c2{stroke:#ff9d4d}.c3{stroke:#2fd3a1}.c4{stroke:#e69cc9}.c5{stroke:#f0e442}.c6{stroke:#7fe0f5}.c7{stroke:#bc9cff}}
`

var dashes = []string{"", "7 4", "2 3"}

const colours = 8

type picture struct{ b strings.Builder }

func (p *picture) layout(title string, groups [][]Drawn) (height int) {
	y := margin + 4
	p.text(margin, y, "head", 0, title)
	for _, runs := range groups {
		if len(runs) == 0 {
			continue
		}
		y += 34
		p.text(margin, y, "head", 0, fmt.Sprintf("%d workers: share of changes decided within a time, in medians of %s (%.0f min)",
			runs[0].Workers, runs[0].Label, runs[0].P50))
		y += 14
		p.plot(y, runs)
		y += plotHeight + 52
		y = p.table(y, runs)
	}
	return y + margin
}

// plot draws the distributions on a logarithmic axis, in units of the first run's
// median.
func (p *picture) plot(top int, runs []Drawn) {
	unit := runs[0].P50
	if unit <= 0 {
		unit = 1
	}
	low, high := 0.25, 2.0
	for _, r := range runs {
		high = max(high, Percentile(r.Turnarounds, 0.99)/unit)
		low = min(low, max(0.05, Percentile(r.Turnarounds, 0.02)/unit))
	}
	at := func(x float64) float64 {
		x = math.Log(min(max(x, low), high)/low) / math.Log(high/low)
		return plotLeft + x*plotWidth
	}
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 0.95, 1} {
		y := float64(top) + plotHeight*(1-share)
		fmt.Fprintf(&p.b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", plotLeft, plotLeft+plotWidth, y, y)
		p.text(plotLeft-8, int(y)+4, "dim num", 0, fmt.Sprintf("%.0f%%", 100*share))
	}
	for _, x := range ticks(low, high) {
		fmt.Fprintf(&p.b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", at(x), at(x), top, top+plotHeight)
		p.text(int(at(x)), top+plotHeight+18, "dim", 1, fmt.Sprintf("%g×", x))
	}
	for i, r := range runs {
		fmt.Fprintf(&p.b, `<polyline class="line c%d"%s points="`, i%colours, dash(i))
		for step := range 101 {
			share := float64(step) / 100
			fmt.Fprintf(&p.b, "%.1f,%.1f ", at(Percentile(r.Turnarounds, share)/unit), float64(top)+plotHeight*(1-share))
		}
		p.b.WriteString(`"/>` + "\n")
	}
}

// ticks returns round numbers on a logarithmic axis.
func ticks(low, high float64) []float64 {
	var out []float64
	wide := high/low > 200
	for decade := 0.01; decade <= high; decade *= 10 {
		for _, x := range []float64{1, 2, 5} {
			if v := math.Round(x*decade*1e4) / 1e4; v >= low && v <= high && (x == 1 || !wide) {
				out = append(out, v)
			}
		}
	}
	return out
}

// table lists the figures; its first column is the legend.
func (p *picture) table(y int, runs []Drawn) int {
	columns := []struct {
		right int
		head  string
		of    func(*Metrics) string
	}{
		{400, "P50", func(m *Metrics) string { return fmt.Sprintf("%.2f", m.Ratio.P50) }},
		{460, "P95", func(m *Metrics) string { return fmt.Sprintf("%.2f", m.Ratio.P95) }},
		{520, "P99", func(m *Metrics) string { return fmt.Sprintf("%.2f", m.Ratio.P99) }},
		{618, "P95, min", func(m *Metrics) string { return fmt.Sprintf("%.0f", m.P95) }},
		{726, "builds/change", func(m *Metrics) string { return fmt.Sprintf("%.2f", m.Builds) }},
		{826, "hours/change", func(m *Metrics) string { return fmt.Sprintf("%.2f", m.Hours) }},
		{pictureWidth - margin, "red commits", func(m *Metrics) string { return fmt.Sprint(m.Red) }},
	}
	p.text(margin, y, "dim", 0, "turnaround, ratio to "+runs[0].Label)
	for _, c := range columns {
		p.text(c.right, y, "dim num", 0, c.head)
	}
	for i, r := range runs {
		y += rowHeight
		fmt.Fprintf(&p.b, `<line class="line c%d"%s x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", i%colours, dash(i), margin, margin+30, y-4, y-4)
		p.text(margin+40, y, "", 0, r.Label)
		for _, c := range columns {
			class := "num"
			if r.Bad() {
				class = "num bad"
			}
			p.text(c.right, y, class, 0, c.of(r.Metrics))
		}
	}
	return y + 10
}

func dash(i int) string {
	if d := dashes[i/colours%len(dashes)]; d != "" {
		return fmt.Sprintf(` stroke-dasharray="%s"`, d)
	}
	return ""
}

// text writes a text at a place; anchor 1 centres it.
func (p *picture) text(x, y int, class string, anchor int, text string) {
	middle := ""
	if anchor == 1 {
		middle = ` text-anchor="middle"`
	}
	fmt.Fprintf(&p.b, `<text class="%s" x="%d" y="%d"%s>%s</text>`+"\n", class, x, y, middle, html.EscapeString(text))
}
