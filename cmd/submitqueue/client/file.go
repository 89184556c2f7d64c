package client

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// DataFolder is where a server keeps its files by default, and where the client
// commands look for them.
func DataFolder() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "submitqueue")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "submitqueue-data"
	}
	return filepath.Join(home, ".local", "share", "submitqueue")
}

// File tells the client commands of the same user where the server is.
type File struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	User  string `json:"user,omitempty"` // the name in which the token commands
}

// PathOf returns the path of the file in a data folder.
func PathOf(data string) string { return filepath.Join(data, "client.json") }

// ReadFile reads the file of a data folder. The error is fs.ErrNotExist where there is none.
func ReadFile(data string) (f File, err error) {
	raw, err := os.ReadFile(PathOf(data))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

// WriteFile writes the file of a data folder whole, readable by its owner alone.
func WriteFile(data string, f File) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	tmp := PathOf(data) + ".new"
	err = os.WriteFile(tmp, append(raw, '\n'), 0o600)
	if err == nil {
		err = os.Rename(tmp, PathOf(data))
	}
	if err != nil {
		_ = os.Remove(tmp) // it may be incomplete
	}
	return err
}
