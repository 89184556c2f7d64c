package main

import "testing"

func TestOpen(t *testing.T) {
	if text, err := open().Handle("search mug"); err != nil || text != "Tea mug" {
		t.Errorf("%q, %v", text, err)
	}
}
