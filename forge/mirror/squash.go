package mirror

import (
	"context"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

func (p Pick) parents() []queue.CommitID {
	if p.Squash {
		return []queue.CommitID{p.Parent}
	}
	return []queue.CommitID{p.Parent, p.Head}
}

// shadow returns a commit that has the tree of Parent, and has Below among its
// ancestors. So git finds the right common past of Parent and Head, although Parent
// holds Below's content in other commits only, for example after a squash. A shadow
// is never published.
func (m *Merges) shadow(ctx context.Context, infos map[queue.CommitID]commitInfo, p Pick) (queue.CommitID, error) {
	if _, err := m.objects.info(ctx, p.Below); err != nil {
		return "", err
	}
	parent := infos[p.Parent]
	info := commitInfo{tree: parent.tree, parents: []queue.CommitID{p.Parent, p.Below}, date: parent.date, message: "shadow\n"}
	id := m.add(m.body(info))
	infos[id] = info
	return id, nil
}

// AuthorOf makes "Name <address>" of hostile text in the form that git accepts; ""
// if no text is left.
func AuthorOf(name, address string) string {
	name, address = strings.TrimSpace(plain(name)), strings.TrimSpace(plain(address))
	if name == "" && address == "" {
		return ""
	}
	return fmt.Sprintf("%s <%s>", name, address)
}
