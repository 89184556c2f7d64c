package gitlab

import (
	"slices"
	"time"
)

var getNotes = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	notes := slices.Clone(mr.notes)
	if c.text("sort") != "asc" {
		slices.Reverse(notes)
	}
	var list []any
	for _, n := range notes {
		list = append(list, n.json(mr.iid))
	}
	return c.page(list)
})

// commandsOnly is the answer to a note without text beside its quick actions: it
// has no id.
func commandsOnly(c *call) (any, *refused) {
	c.status = 202
	return obj{"commands_changes": obj{}, "summary": []string{"Commands applied"}}, nil
}

var postNote = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	if c.text("body") == "" {
		return nil, &refused{400, obj{"error": "body is missing"}}
	}
	if len([]rune(c.text("body"))) > 1_000_000 {
		return nil, &refused{400, obj{"message": obj{"note": []string{"is too long (maximum is 1000000 characters)"}}}}
	}
	if limit := c.s.opts.NotesPerMinute; limit > 0 {
		old := c.s.now().Add(-time.Minute)
		of := slices.DeleteFunc(c.s.noted[c.who], func(at time.Time) bool { return !at.After(old) })
		if len(of) >= limit {
			return nil, &refused{429, obj{"message": obj{"error": "This endpoint has been requested too many times. Try again later."}}}
		}
		if c.s.noted == nil {
			c.s.noted = map[*User][]time.Time{}
		}
		c.s.noted[c.who] = append(of, c.s.now())
	}
	n := mr.addNote(c.who, c.text("body"))
	if n == nil {
		return commandsOnly(c)
	}
	c.status = 201
	return n.json(mr.iid), nil
})

// aboutNote is an endpoint of one note.
func aboutNote(f func(*call, *mergeRequest, *note) (any, *refused)) func(*call) (any, *refused) {
	return aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
		n := mr.note(c.id("note"))
		if n == nil {
			return nil, notFound("Note")
		}
		return f(c, mr, n)
	})
}

var putNote = aboutNote(func(c *call, mr *mergeRequest, n *note) (any, *refused) {
	if n.author != c.who && c.p.level(c.who) < 40 {
		return nil, &refused{403, obj{"message": "403 Forbidden"}}
	}
	if mr.editNote(n, c.text("body")) {
		return commandsOnly(c)
	}
	return n.json(mr.iid), nil
})

var deleteNote = aboutNote(func(c *call, mr *mergeRequest, n *note) (any, *refused) {
	mr.dropNote(n)
	c.status = 204
	return obj{}, nil
})

// awards returns the awards of a note, or of the merge request itself.
func (c *call) awards() (*[]award, *refused) {
	mr, no := c.mergeRequest()
	if no != nil {
		return nil, no
	}
	if _, ok := c.vars["note"]; !ok {
		return &mr.awards, nil
	}
	if n := mr.note(c.id("note")); n != nil {
		return &n.awards, nil
	}
	return nil, notFound("Note")
}

func (a award) json() obj { return obj{"id": a.id, "name": a.name, "user": a.user.json()} }

func getAwards(c *call) (any, *refused) {
	have, no := c.awards()
	if no != nil {
		return nil, no
	}
	var list []any
	for _, a := range *have {
		list = append(list, a.json())
	}
	return c.page(list)
}

// postAward awards an emoji; the same one a second time is an error.
func postAward(c *call) (any, *refused) {
	have, no := c.awards()
	if no != nil {
		return nil, no
	}
	a := award{c.s.nextID(), c.text("name"), c.who}
	if slices.ContainsFunc(*have, func(x award) bool { return x.name == a.name && x.user == a.user }) {
		return nil, &refused{404, obj{"message": "404 Award Emoji Name has already been taken Not Found"}}
	}
	*have = append(*have, a)
	c.status = 201
	return a.json(), nil
}
