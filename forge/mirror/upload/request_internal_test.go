package upload

import (
	"strings"
	"testing"
)

// FuzzWanted reads rubbish: what is accepted names objects only, and is no longer than what
// was read.
func FuzzWanted(f *testing.F) {
	f.Add([]byte(packet("want "+strings.Repeat("a", 40)+" ofs-delta\n") + packet("deepen 1\n") + "0000" + packet("done\n")))
	f.Add([]byte("0000"))
	f.Add([]byte("0004"))
	f.Add([]byte("fffe"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		oids, err := wanted(raw)
		if err == nil && len(oids)*40 > len(raw) {
			t.Errorf("%d wants in %d bytes", len(oids), len(raw))
		}
		for _, oid := range oids {
			if !isObject(oid) {
				t.Errorf("%q", oid)
			}
		}
	})
}
