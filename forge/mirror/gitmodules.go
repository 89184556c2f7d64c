package mirror

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// module is a submodule as a commit's .gitmodules describes it.
type module struct {
	name string
	path string
	url  string // as written; hostile text, as are name and path
}

// modulesOf reads what `git config -z --list` prints of a .gitmodules, by path. If any
// part of the file asks for more than a fetch into a folder of the checkout, the file is
// refused.
func modulesOf(listing string) (map[string]module, error) {
	byName := map[string]*module{}
	for entry := range strings.SplitSeq(listing, "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		key, ok := strings.CutPrefix(key, "submodule.")
		dot := strings.LastIndexByte(key, '.')
		if !ok || dot < 0 {
			continue
		}
		name, field := key[:dot], key[dot+1:]
		s := byName[name]
		if s == nil {
			s = &module{name: name}
			byName[name] = s
		}
		switch field {
		case "path":
			s.path = value
		case "url":
			s.url = value
		case "update":
			if strings.HasPrefix(value, "!") {
				return nil, fmt.Errorf("submodule %.80q wants a command to be run (update = %.80q): delete the line", name, value)
			}
		}
	}
	byPath := map[string]module{}
	for name, s := range byName {
		switch before, twice := byPath[s.path]; {
		case contained(name) != "":
			return nil, fmt.Errorf("the submodule's name %.80q %s: give it another name", name, contained(name))
		case contained(s.path) != "":
			return nil, fmt.Errorf("submodule %.80q has the path %.80q, which %s: give it another folder", name, s.path, contained(s.path))
		case s.url == "" || strings.HasPrefix(s.url, "-") || strings.ContainsFunc(s.url, isControl):
			return nil, fmt.Errorf("submodule %.80q has the url %.80q, which is none: write the https address of its repository", name, s.url)
		case twice:
			return nil, fmt.Errorf("submodules %.80q and %.80q are both at %.80q: delete one", min(before.name, name), max(before.name, name), s.path)
		}
		byPath[s.path] = *s
	}
	return byPath, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// contained says why a path of a tree is not a path below a folder; "" if it is one.
func contained(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.HasPrefix(p, "/"):
		return "begins at the root"
	case strings.HasPrefix(p, "-"):
		return "reads like an option"
	case strings.ContainsFunc(p, isControl) || strings.Contains(p, `\`):
		return "holds a character that no path needs"
	}
	for part := range strings.SplitSeq(p, "/") {
		folded := strings.TrimRight(strings.ToLower(part), " .")
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Sprintf("has the part %q", part)
		case folded == ".git" || strings.HasPrefix(folded, "git~"):
			return "leads into a folder of git's own"
		}
	}
	return ""
}

// moduleURL returns the address of a submodule's repository from the address written in
// .gitmodules: an https address, or one relative to the address of the parent repository. A
// repository at the host of own, the repository that is built, is reached in the same way
// as own.
func moduleURL(own, parent, written string) (string, error) {
	if strings.HasPrefix(written, "./") || strings.HasPrefix(written, "../") {
		return relativeURL(parent, written)
	}
	home, _ := url.Parse(own)
	if host, rest, ok := sshAddress(written); ok {
		if home != nil && (home.Scheme == "https" || home.Scheme == "http") && strings.EqualFold(host, home.Host) {
			return home.Scheme + "://" + home.Host + "/" + rest, nil
		}
		return "", fmt.Errorf("its address is one for ssh, and the queue has no key for %.80q: write its https address, or one relative to the repository's", host)
	}
	u, err := url.Parse(written)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && home != nil && home.Scheme == "http" && strings.EqualFold(u.Host, home.Host)) {
		return "", fmt.Errorf("its address %.120q is none that is fetched: write its https address, or one relative to the repository's (../NAME.git)", redacted(written))
	}
	if _, secret := u.User.Password(); secret {
		return "", fmt.Errorf("its address at %.80q holds a password: take it out, everybody who reads the repository has it", u.Host)
	}
	u.User, u.Fragment, u.RawQuery = nil, "", ""
	return u.String(), nil
}

// redacted returns an address without the part that may be a password.
func redacted(address string) string {
	before, after, ok := strings.Cut(address, "@")
	if scheme, _, has := strings.Cut(before, "://"); ok && has {
		return scheme + "://" + after
	}
	return address
}

// sshAddress takes an address for ssh apart: ssh://[USER@]HOST/PATH or USER@HOST:PATH.
func sshAddress(address string) (host, rest string, ok bool) {
	if u, err := url.Parse(address); err == nil && u.Scheme == "ssh" && u.Host != "" {
		return u.Hostname(), strings.TrimPrefix(u.Path, "/"), true
	}
	before, rest, ok := strings.Cut(address, ":")
	user, host, at := strings.Cut(before, "@")
	if !ok || !at || user == "" || strings.ContainsAny(before, "/") || strings.HasPrefix(rest, ":") {
		return "", "", false
	}
	return host, strings.TrimPrefix(rest, "/"), true
}

// relativeURL follows ./ and ../ from a repository's address, as git does.
func relativeURL(parent, written string) (string, error) {
	root, at := "", parent
	if u, err := url.Parse(parent); err == nil && u.Host != "" {
		root, at = u.Scheme+"://"+u.Host, u.Path
	} else if !path.IsAbs(parent) {
		return "", fmt.Errorf("its address %.120q is relative, and the repository's has no folders: write its https address", written)
	}
	parts := strings.Split(strings.Trim(at, "/"), "/")
	for part := range strings.SplitSeq(strings.TrimSuffix(written, "/"), "/") {
		switch {
		case part == ".":
		case part == ".." && len(parts) > 0:
			parts = parts[:len(parts)-1]
		case part == "..":
			return "", fmt.Errorf("its address %.120q leads above the host of the repository", written)
		case part == "":
			return "", fmt.Errorf("its address %.120q has an empty part", written)
		default:
			parts = append(parts, part)
		}
	}
	return root + "/" + strings.Join(parts, "/"), nil
}

// sameOwner reports whether a repository is at the host of another one and has the same
// owner: only such a repository gets our credentials for the other one.
func sameOwner(own, other string) bool {
	a, err1 := url.Parse(own)
	b, err2 := url.Parse(other)
	return err1 == nil && err2 == nil && a.Host != "" && a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) &&
		strings.EqualFold(path.Dir(path.Clean(a.Path)), path.Dir(path.Clean(b.Path)))
}
