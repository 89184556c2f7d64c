package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// dataFolder is where a server keeps its files unless it is told otherwise,
// and where the client commands look for it.
func dataFolder() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "submitqueue")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "submitqueue-data"
	}
	return filepath.Join(home, ".local", "share", "submitqueue")
}

// clientFile tells the client commands of the same user where the server is.
type clientFile struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	User  string `json:"user,omitempty"` // in whose name the token commands
}

func clientPath(data string) string { return filepath.Join(data, "client.json") }

func readClient(data string) (f clientFile, err error) {
	raw, err := os.ReadFile(clientPath(data))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

func writeClient(data string, f clientFile) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	tmp := clientPath(data) + ".new"
	err = os.WriteFile(tmp, append(raw, '\n'), 0o600)
	if err == nil {
		err = os.Rename(tmp, clientPath(data))
	}
	if err != nil {
		_ = os.Remove(tmp) // it may be half of it
	}
	return err
}
