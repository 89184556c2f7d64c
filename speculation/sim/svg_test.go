package sim_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

func TestPictureIsSound(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) { p.Changes = 60 })
	var runs []sim.Drawn
	for _, name := range []string{"oracle", "single"} {
		m := mustMeasure(t, w, name, sim.Options{Workers: 10})
		if len(runs) > 0 {
			m.Against(runs[0].Metrics)
		}
		runs = append(runs, sim.Drawn{Label: name + ` <&"x">`, Metrics: m})
	}
	var a, b bytes.Buffer
	for _, out := range []*bytes.Buffer{&a, &b} {
		if err := sim.WriteSVG(out, "a <title> & more", [][]sim.Drawn{runs, nil, runs}); err != nil {
			t.Fatal(err)
		}
	}
	if a.String() != b.String() {
		t.Error("the same runs make two pictures")
	}
	d, lines := xml.NewDecoder(strings.NewReader(a.String())), 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 4 {
		t.Errorf("%d curves; want 4", lines)
	}
	if s := a.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || !strings.Contains(s, "prefers-color-scheme:dark") {
		t.Error("the picture has impossible numbers or one setting only")
	}
}
