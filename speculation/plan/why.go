package plan

// Leave takes an edge out of a deal that its plan has made: who is behind it moves
// up.
func (d *Deal) Leave(at int) {
	kept := d.Due[:0]
	for _, i := range d.Due {
		switch {
		case i < at:
			kept = append(kept, i)
		case i > at:
			kept = append(kept, i-1)
		}
	}
	d.Due = kept
}
