package forgetest

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Small repositories are the rule here, and their objects are loose files: reading and
// writing those costs microseconds, where a git process takes milliseconds. Harder cases are
// left to git.

// errNotLoose says that an object has no separate file.
var errNotLoose = errors.New("not a loose object")

func (r *store) loosePath(id string) string {
	return filepath.Join(r.repo.dir, "objects", id[:2], id[2:])
}

// readLoose reads an object of a kind. errNotLoose: git may still have it.
func (r *store) readLoose(kind, id string) ([]byte, error) {
	if len(id) != 40 {
		return nil, errNotLoose
	}
	file, err := os.Open(r.loosePath(id))
	if err != nil {
		return nil, errNotLoose
	}
	defer file.Close()
	z, err := zlib.NewReader(file)
	if err != nil {
		return nil, errNotLoose
	}
	text, err := io.ReadAll(z)
	head, data, ok := bytes.Cut(text, []byte{0})
	if err != nil || !ok || !strings.HasPrefix(string(head), kind+" ") {
		return nil, errNotLoose
	}
	return data, nil
}

// writeLoose writes an object and returns its id.
func (r *store) writeLoose(kind string, data []byte) (string, error) {
	text := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	sum := sha1.Sum(text)
	id := hex.EncodeToString(sum[:])
	path := r.loosePath(id)
	if _, err := os.Stat(path); err == nil {
		return id, nil
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	_, err = z.Write(text)
	if err = errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
		return "", err
	}
	if err := os.WriteFile(path+".new", packed.Bytes(), 0o444); err != nil {
		return "", err
	}
	return id, os.Rename(path+".new", path)
}

// leaf is an entry of a tree.
type leaf struct{ mode, name, id string }

// sortKey returns the text by which git sorts an entry.
func (l leaf) sortKey() string {
	if l.mode == "40000" {
		return l.name + "/"
	}
	return l.name
}

func (r *store) readTree(id string) (list []leaf, err error) {
	if id == "" {
		return nil, nil
	}
	data, err := r.readLoose("tree", id)
	for err == nil && len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		if !ok || len(rest) < sha1.Size {
			return nil, errNotLoose
		}
		list = append(list, leaf{mode, name, hex.EncodeToString(rest[:sha1.Size])})
		data = rest[sha1.Size:]
	}
	return list, err
}

// makeLoose makes the same commit that fast-import makes. errNotLoose: fast-import
// has to make it.
func (r *store) makeLoose(c newCommit) (string, error) {
	tree := ""
	if c.from != "" {
		commit, err := r.readLoose("commit", c.from)
		if err != nil {
			return "", err
		}
		tree = strings.TrimPrefix(string(commit[:45]), "tree ")
	}
	set := map[string]*string{}
	for _, path := range c.gone {
		set[path] = nil
	}
	for path, text := range c.files {
		set[path] = &text
	}
	for path := range set {
		if path == "" || path != filepath.ToSlash(filepath.Clean(path)) || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "..") {
			return "", errNotLoose // git has an error message for it
		}
	}
	tree, err := r.graft(tree, set)
	if err != nil {
		return "", err
	}
	if tree == "" {
		if tree, err = r.writeLoose("tree", nil); err != nil {
			return "", err
		}
	}
	text := "tree " + tree + "\n"
	for _, parent := range []string{c.from, c.merge} {
		if parent == "" {
			continue
		}
		if _, err := r.readLoose("commit", parent); err != nil {
			return "", err
		}
		text += "parent " + parent + "\n"
	}
	return r.writeLoose("commit", []byte(text+"author "+c.sign+"\ncommitter "+c.sign+"\n\n"+c.message))
}

// graft puts files, by path, on a tree, and removes those that are nil. An empty tree is
// "".
func (r *store) graft(tree string, set map[string]*string) (string, error) {
	list, err := r.readTree(tree)
	if err != nil {
		return "", err
	}
	below := map[string]map[string]*string{}
	for path, text := range set {
		if dir, rest, deep := strings.Cut(path, "/"); deep {
			if below[dir] == nil {
				below[dir] = map[string]*string{}
			}
			below[dir][rest] = text
			continue
		}
		at := slices.IndexFunc(list, func(l leaf) bool { return l.name == path })
		if at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		if text != nil {
			blob, err := r.writeLoose("blob", []byte(*text))
			if err != nil {
				return "", err
			}
			list = append(list, leaf{"100644", path, blob})
		}
	}
	for dir, set := range below {
		at, old := slices.IndexFunc(list, func(l leaf) bool { return l.name == dir }), ""
		if at >= 0 {
			if list[at].mode != "40000" {
				return "", errNotLoose
			}
			old = list[at].id
			list = slices.Delete(list, at, at+1)
		}
		id, err := r.graft(old, set)
		if err != nil {
			return "", err
		}
		if id != "" {
			list = append(list, leaf{"40000", dir, id})
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	slices.SortFunc(list, func(a, b leaf) int { return cmp.Compare(a.sortKey(), b.sortKey()) })
	var text []byte
	for _, l := range list {
		id, err := hex.DecodeString(l.id)
		if err != nil {
			return "", err
		}
		text = append(fmt.Appendf(text, "%s %s\x00", l.mode, l.name), id...)
	}
	return r.writeLoose("tree", text)
}

// message returns the whole message of a commit.
func (r *store) message(ctx context.Context, commit string) (string, error) {
	if data, err := r.readLoose("commit", commit); err == nil {
		if _, message, ok := strings.Cut(string(data), "\n\n"); ok {
			return message, nil
		}
	}
	out, err := r.git(ctx, nil, "log", "-1", "--format=%B", commit)
	return string(out), err
}

// infosOf reads commits for webhooks, without their files.
func (r *store) infosOf(ctx context.Context, ids []string) (infos []commitInfo) {
	for _, id := range ids {
		data, err := r.readLoose("commit", id)
		info, ok := infoOf(id, string(data))
		if err != nil || !ok {
			out, err := r.git(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), "log", "--no-walk", "--stdin", infoFormat)
			if err != nil {
				r.repo.s.log.Error("read what was pushed", "err", err)
			}
			return parseInfo(out)
		}
		infos = append(infos, info)
	}
	return infos
}

// infoOf reads a commit of the plainest kind.
func infoOf(id, commit string) (c commitInfo, ok bool) {
	head, message, ok := strings.Cut(commit, "\n\n")
	if !ok || strings.Contains(head, "\nencoding ") {
		return c, false
	}
	c = commitInfo{side: ">", id: id, files: map[string][]string{}}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		who, when, _ := strings.Cut(value, "> ")
		switch key {
		case "tree":
			c.tree = value
		case "author":
			c.name, c.email, _ = strings.Cut(who, " <")
		case "committer":
			stamp, zone, _ := strings.Cut(when, " ")
			seconds, err := strconv.ParseInt(stamp, 10, 64)
			at, zoneErr := time.Parse("-0700", zone)
			if err != nil || zoneErr != nil {
				return c, false
			}
			c.when = time.Unix(seconds, 0).In(at.Location()).Format("2006-01-02T15:04:05-07:00")
		}
	}
	var subject []string
	for line := range strings.SplitSeq(message, "\n") {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			subject = append(subject, line)
		} else if len(subject) > 0 {
			break
		}
	}
	c.subject = strings.Join(subject, " ")
	return c, true
}
