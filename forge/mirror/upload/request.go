package upload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// packet is a line of git's protocols, with its length (gitprotocol-common).
func packet(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }

// wanted reads what a request of upload-pack in protocol 0 wants (gitprotocol-pack, packfile
// negotiation): lines until the first flush are wants and their limits, the rest names
// objects that the client has.
func wanted(raw []byte) (oids []string, err error) {
	for at := 0; ; {
		if len(raw)-at < 4 {
			if at == len(raw) && len(oids) == 0 {
				return nil, errors.New("it is empty")
			}
			return nil, errors.New("it is cut off")
		}
		n, err := strconv.ParseUint(string(raw[at:at+4]), 16, 16)
		if err != nil {
			return nil, fmt.Errorf("no length of a line at byte %d", at)
		}
		if n == 0 {
			break
		}
		if n < 4 || int(n) > len(raw)-at {
			return nil, fmt.Errorf("a line at byte %d is cut off", at)
		}
		line := strings.TrimSuffix(string(raw[at+4:at+int(n)]), "\n")
		at += int(n)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "want":
			oid, _, _ := strings.Cut(rest, " ")
			if !isObject(oid) {
				return nil, errors.New("a want that names no object")
			}
			oids = append(oids, oid)
		case "shallow", "deepen", "deepen-since", "deepen-not", "deepen-relative", "filter":
		default:
			return nil, errors.New("a line that is no want")
		}
	}
	return oids, nil
}

func isObject(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// has reports whether an object belongs to the commit's own tree.
func (repo *repository) has(ctx context.Context, oid string) (bool, error) {
	repo.once.Do(func() {
		repo.trees, repo.fault = repo.list(context.WithoutCancel(ctx))
	})
	return repo.trees[oid], repo.fault
}

// list returns the objects of a commit's tree.
func (repo *repository) list(ctx context.Context) (map[string]bool, error) {
	root, err := repo.git(ctx, "rev-parse", "--verify", string(repo.commit)+"^{tree}").Output()
	if err != nil {
		return nil, err
	}
	all := map[string]bool{strings.TrimSpace(string(root)): true}
	cmd := repo.git(ctx, "ls-tree", "-r", "-t", "-z", string(repo.commit))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	lines.Split(splitNul)
	for lines.Scan() { // MODE TYPE OID\tPATH
		if words := strings.Fields(lines.Text()); len(words) >= 3 && words[1] != "commit" {
			all[words[2]] = true
		}
	}
	return all, errors.Join(lines.Err(), cmd.Wait())
}

func splitNul(data []byte, end bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if end && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
