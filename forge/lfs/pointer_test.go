package lfs_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/lfs"
)

func TestParse(t *testing.T) {
	oid := strings.Repeat("0a", 32)
	first, second, third := "version https://git-lfs.github.com/spec/v1\n", "oid sha256:"+oid+"\n", "size 12345\n"
	want := lfs.Pointer{OID: oid, Size: 12345}
	for text, ok := range map[string]bool{
		first + second + third:                                         true,
		strings.TrimSuffix(first+second+third, "\n"):                   true,
		strings.ReplaceAll(first+second+third, "\n", "\r\n"):           true,
		"version https://hawser.github.com/spec/v1\n" + second + third: true,
		"":                              false,
		"content\n":                     false,
		first:                           false,
		first + second:                  false,
		first + third:                   false,
		second + third:                  false,
		second + first + third:          false,
		first + second + third + third:  false,
		first + second + second + third: false,
		first + second + "size -1\n":    false,
		first + second + "size 0x10\n":  false,
		first + second + "size +5\n":    false,
		first + second + "size 99999999999999999999\n":                  false,
		first + "oid sha256:" + strings.ToUpper(oid) + "\n" + third:     false,
		first + "oid sha256:../../../../etc/passwd\n" + third:           false,
		first + "oid md5:" + oid + "\n" + third:                         false,
		first + "ext-0-foo sha256:" + oid + "\n" + second + third:       false,
		"version https://git-lfs.github.com/spec/v9\n" + second + third: false,
		first + second + third + strings.Repeat("x y\n", 300):           false,
	} {
		p, got := lfs.Parse([]byte(text))
		if got != ok || ok && p != want {
			t.Errorf("%q: %+v %v", text, p, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0a", 32) + "\nsize 12345\n"))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\nsize 0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ok := lfs.Parse(text)
		if !ok {
			return
		}
		if len(p.OID) != 64 || strings.Trim(p.OID, "0123456789abcdef") != "" || p.Size < 0 || len(text) < lfs.MinPointer || len(text) > lfs.MaxPointer {
			t.Errorf("%q: %+v", text, p)
		}
	})
}
