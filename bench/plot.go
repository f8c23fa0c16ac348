package main

import (
	"cmp"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figures collects what the replicas-… benchmarks draw.
type figures struct {
	seen      lines
	processor []bars
	rate      lines
	latency   lines
}

// lines are curves by name, in the order in which they came.
type lines struct {
	names  []string
	points map[string]plotter.XYs
}

func (l *lines) add(name string, x, y float64) {
	if l.points == nil {
		l.points = map[string]plotter.XYs{}
	}
	if _, ok := l.points[name]; !ok {
		l.names = append(l.names, name)
	}
	l.points[name] = append(l.points[name], plotter.XY{X: x, Y: max(y, 1e-3)}) // a logarithm has no zero
}

// bars are the processor times of both modes with so many listeners.
type bars struct {
	listeners            int
	replication, version usage
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (f *figures) visible(name string, entries int, took time.Duration) {
	f.seen.add(name, float64(entries), ms(took))
}

func (f *figures) cpu(listeners int, replication, version usage) {
	f.processor = append(f.processor, bars{listeners, replication, version})
}

func (f *figures) throughput(name string, clients int, rate float64, p50, p99 time.Duration) {
	f.rate.add(name, float64(clients), rate)
	f.latency.add(name+" p50", float64(clients), ms(p50))
	f.latency.add(name+" p99", float64(clients), ms(p99))
}

var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff},
}

// draw writes the figures as SVG; nothing when there are none.
func (f *figures) draw(w io.Writer) error {
	var panels []*plot.Plot
	if len(f.seen.names) > 0 {
		p, err := f.seen.panel("read-only exec on B after a write on A", "entries of the tree", "ms", 1)
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	if len(f.processor) > 0 {
		p, err := f.cpuPanel()
		if err != nil {
			return err
		}
		panels = append(panels, p)
	}
	if len(f.rate.names) > 0 {
		rate, err := f.rate.panel("throughput of two gateways", "clients", "requests/s", 1)
		if err != nil {
			return err
		}
		latency, err := f.latency.panel("latency (dashed: p99)", "clients", "ms", 2)
		if err != nil {
			return err
		}
		panels = append(panels, rate, latency)
	}
	if len(panels) == 0 {
		return nil
	}
	columns := min(2, len(panels))
	rows := (len(panels) + columns - 1) / columns
	const width, height = 13 * vg.Centimeter, 9 * vg.Centimeter
	canvas := vgsvg.New(width*vg.Length(columns), height*vg.Length(rows))
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Centimeter, PadY: vg.Centimeter, PadLeft: vg.Points(5),
		PadRight: vg.Centimeter, PadTop: vg.Points(5), PadBottom: vg.Points(5)}
	dc := draw.New(canvas)
	for i, p := range panels {
		p.Draw(tiles.At(dc, i%columns, i/columns))
	}
	_, err := canvas.WriteTo(w)
	return err
}

// panel draws curves on logarithmic axes. group is how many follow each other in one colour: plain, dashed.
func (l *lines) panel(title, x, y string, group int) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	var at []plot.Tick
	for i, name := range l.names {
		points := l.points[name]
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color = palette[i/group%len(palette)]
		line.Width = vg.Points(1.5)
		marks.Color, marks.Shape = line.Color, draw.CircleGlyph{}
		if i%group > 0 {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line, marks)
		if i%group == 0 {
			p.Legend.Add(name, line, marks)
		}
		for _, v := range points {
			if !slices.ContainsFunc(at, func(t plot.Tick) bool { return t.Value == v.X }) {
				at = append(at, plot.Tick{Value: v.X, Label: strconv.Itoa(int(v.X))})
			}
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(at)
	// Whole decades, with room for the legend; and a width even for one point.
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(p.Y.Min))), math.Pow(10, math.Ceil(math.Log10(p.Y.Max))+0.5)
	p.X.Min, p.X.Max = p.X.Min/1.2, p.X.Max*1.2
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// cpuPanel draws gateways and Postgres upon each other, the modes beside each other.
func (f *figures) cpuPanel() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = strconv.Itoa(pacedWrites)+" writes/s: processor time",
		"replicas that read", "% of one core"
	p.Legend.Top, p.Legend.Left = true, true
	const width = vg.Length(22)
	var names []string
	var values [4]plotter.Values
	for _, b := range f.processor {
		names = append(names, strconv.Itoa(b.listeners))
		for i, v := range []float64{b.replication.gateways, b.replication.postgres, b.version.gateways, b.version.postgres} {
			values[i] = append(values[i], 100*v)
		}
	}
	var below *plotter.BarChart
	for i, name := range []string{"replication: gateways", "replication: Postgres", "version: gateways",
		"version: Postgres"} {
		c, err := plotter.NewBarChart(values[i], width)
		if err != nil {
			return nil, err
		}
		c.Color, c.LineStyle.Width, c.Offset = palette[i], 0, width*vg.Length(i/2)-width/2
		if i%2 == 1 {
			c.StackOn(below)
		}
		below = c
		p.Add(c)
		p.Legend.Add(name, c)
	}
	p.NominalX(names...)
	p.Y.Max *= 1.5 // room for the legend
	return p, nil
}
