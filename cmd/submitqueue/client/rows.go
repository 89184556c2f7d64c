package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// Rows gives each page of a queue's event archive to a function, oldest first, and returns
// the queue's name. An error of the function ends the reading.
func (c *Client) Rows(ctx context.Context, name string, each func(rows []queue.Row) error) (string, error) {
	place := ""
	for {
		var page api.Rows
		path := "/api/rows?" + url.Values{"queue": {name}, "place": {place}, "max": {strconv.Itoa(api.RowsMost)}}.Encode()
		if err := c.Get(ctx, path, &page); err != nil {
			return name, err
		}
		name = page.Queue
		if page.Next == place {
			return name, nil
		}
		if err := each(page.Rows); err != nil {
			return name, err
		}
		place = page.Next
	}
}
