package forgetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Damages are ways to damage a bare repository on this machine, by name, as disks
// and people do. Each is a function of its directory and says what went wrong.
var Damages = map[string]func(dir string) error{
	"the folder is removed":         os.RemoveAll,
	"the objects are removed":       func(dir string) error { return emptied(filepath.Join(dir, "objects")) },
	"the refs are removed":          func(dir string) error { return os.RemoveAll(filepath.Join(dir, "refs")) },
	"the refs are emptied":          func(dir string) error { return emptied(filepath.Join(dir, "refs")) },
	"HEAD is garbage":               func(dir string) error { return garbage(filepath.Join(dir, "HEAD")) },
	"the configuration is garbage":  func(dir string) error { return garbage(filepath.Join(dir, "config")) },
	"packed-refs is garbage":        func(dir string) error { return garbage(filepath.Join(dir, "packed-refs")) },
	"refs lead nowhere":             strayRefs,
	"packs are truncated":           func(dir string) error { return eachPack(dir, ".pack", halved) },
	"indexes of packs are gone":     func(dir string) error { return eachPack(dir, ".idx", os.Remove) },
	"indexes of packs are garbage":  func(dir string) error { return eachPack(dir, ".idx", garbage) },
	"the middle of packs is wrong":  func(dir string) error { return eachPack(dir, ".pack", holed) },
	"loose objects are garbage":     func(dir string) error { return eachLoose(dir, garbage) },
	"loose objects are empty":       func(dir string) error { return eachLoose(dir, func(p string) error { return os.Truncate(p, 0) }) },
	"the first commit is missing":   missingRoot,
	"files are missing":             func(dir string) error { return missingKind(dir, "blob") },
	"directories are missing":       func(dir string) error { return missingKind(dir, "tree") },
	"indexes of checkouts are gone": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "checkouts")) },
	"indexes of checkouts are garbage": func(dir string) error {
		paths, err := filepath.Glob(filepath.Join(dir, "checkouts", "*"))
		for _, p := range paths {
			if !strings.HasSuffix(p, ".filled") {
				err = garbage(p)
			}
		}
		return err
	},
}

func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
	return err
}

func garbage(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, bytes.Repeat([]byte("\x00garbage\xff\n"), 40), 0o644)
}

// rewritten replaces a file and does not write into it: other processes may have
// mapped it.
func rewritten(path string, change func([]byte) []byte) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = os.WriteFile(path, change(data), 0o444)
	}
	return err
}

func halved(path string) error {
	return rewritten(path, func(data []byte) []byte { return data[:len(data)/2] })
}

func holed(path string) error {
	return rewritten(path, func(data []byte) []byte {
		for i := 14; i < len(data)-20; i++ {
			data[i] ^= 0x5a
		}
		return data
	})
}

func eachPack(dir, ending string, do func(string) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*"+ending))
	for _, p := range paths {
		if err == nil {
			err = do(p)
		}
	}
	return err
}

func eachLoose(dir string, do func(string) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, "objects", "[0-9a-f][0-9a-f]", "*"))
	for _, p := range paths {
		if err == nil {
			err = do(p)
		}
	}
	return err
}

func strayRefs(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.WriteFile(path, []byte(strings.Repeat("7", 40)+"\n"), 0o644)
		}
		return err
	})
}

// exploded makes all packs loose objects and lists those.
func exploded(dir string) ([]string, error) {
	err := eachPack(dir, ".pack", func(path string) error {
		data, err := os.ReadFile(path)
		for _, ending := range []string{".pack", ".idx", ".rev"} {
			_ = os.Remove(strings.TrimSuffix(path, ".pack") + ending)
		}
		if err != nil {
			return err
		}
		_, err = damagedGit(dir, data, "unpack-objects", "-q")
		return err
	})
	var ids []string
	if err == nil {
		err = eachLoose(dir, func(path string) error {
			ids = append(ids, filepath.Base(filepath.Dir(path))+filepath.Base(path))
			return nil
		})
	}
	return ids, err
}

// missingKind removes every second object of a kind.
func missingKind(dir, kind string) error {
	ids, err := exploded(dir)
	if err != nil {
		return err
	}
	slices.Sort(ids)
	out, err := damagedGit(dir, []byte(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return err
	}
	n := 0
	for i, k := range strings.Fields(string(out)) {
		if k != kind {
			continue
		}
		if n++; n%2 == 1 {
			if err := os.Remove(filepath.Join(dir, "objects", ids[i][:2], ids[i][2:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// missingRoot removes the commits without parents.
func missingRoot(dir string) error {
	if _, err := exploded(dir); err != nil {
		return err
	}
	out, err := damagedGit(dir, nil, "rev-list", "--max-parents=0", "--all")
	for _, id := range strings.Fields(string(out)) {
		if err == nil {
			err = os.Remove(filepath.Join(dir, "objects", id[:2], id[2:]))
		}
	}
	return err
}

func damagedGit(dir string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"--git-dir=" + dir}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}
