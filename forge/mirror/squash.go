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

// shadow returns a commit that is Parent, and has Below among its ancestors: what
// git takes for the common past of Parent and Head is right then although Parent
// holds Below's content in other commits only, as it does where that was squashed.
// Nobody ever sees a shadow.
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

// AuthorOf makes "Name <address>" of hostile text as git takes it; "" where there
// is nothing left of it.
func AuthorOf(name, address string) string {
	name, address = strings.TrimSpace(plain(name)), strings.TrimSpace(plain(address))
	if name == "" && address == "" {
		return ""
	}
	return fmt.Sprintf("%s <%s>", name, address)
}
