package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unit is a unit of systemd: the values of each key, by section.
type unit map[string]map[string][]string

// readUnit reads a unit as systemd does (systemd.syntax), but for continued lines, which
// ours have none of.
func readUnit(text string) (unit, error) {
	u, section := unit{}, ""
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
			u[section] = map[string][]string{}
		case !assigned || section == "" || strings.HasSuffix(line, `\`):
			return nil, fmt.Errorf("line %d is no assignment: %s", n+1, line)
		default:
			u[section][key] = append(u[section][key], value)
		}
	}
	return u, nil
}

// unitKeys are the keys that our units have (systemd.unit, systemd.service, systemd.exec,
// systemd.kill, systemd.resource-control).
var unitKeys = map[string][]string{
	"Unit": {"Description", "After", "Wants"},
	"Service": {"ExecStart", "Environment", "EnvironmentFile", "StateDirectory", "StateDirectoryMode", "CapabilityBoundingSet", "Delegate", "Restart", "RestartSec",
		"TimeoutStopSec", "KillMode", "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp"},
	"Install": {"WantedBy"},
}

// commandLine holds that a command line is one of ours, with flags that it has.
func commandLine(t *testing.T, file string, args []string) {
	t.Helper()
	parser, err := newParser()
	if err == nil {
		_, err = parser.Parse(args)
	}
	if err != nil {
		t.Errorf("%s: submitqueue %s: %v", file, strings.Join(args, " "), err)
	}
}

// The units of systemd have keys that it knows, start what there is, and end it as it is
// documented: a runner that is drained is not started again, a server that ends is.
func TestUnits(t *testing.T) {
	for file, want := range map[string]struct{ restart, state string }{
		"submitqueue-runner.service": {"on-failure", "submitqueue-runner"},
		"submitqueue.service":        {"always", "submitqueue"},
	} {
		raw, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		u, err := readUnit(string(raw))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for section, keys := range u {
			for key := range keys {
				if !slices.Contains(unitKeys[section], key) {
					t.Errorf("%s: [%s] has the key %s, which this test does not know", file, section, key)
				}
			}
		}
		service := u["Service"]
		one := func(key string) string {
			if len(service[key]) != 1 {
				t.Errorf("%s has %s %d times", file, key, len(service[key]))
				return ""
			}
			return service[key][0]
		}
		args := strings.Fields(one("ExecStart"))
		if len(args) < 2 || args[0] != "/usr/local/bin/submitqueue" {
			t.Fatalf("%s starts %q", file, args)
		}
		if args[1] == "runner" { // the settings of a server are in its EnvironmentFile
			commandLine(t, file, args[1:])
		}
		if one("Restart") != want.restart || one("KillMode") != "mixed" { // only the first process is asked to end
			t.Errorf("%s: Restart=%s KillMode=%s", file, one("Restart"), one("KillMode"))
		}
		state, _, _ := strings.Cut(one("StateDirectory"), " ")
		if state != want.state || !strings.HasSuffix(one("Environment"), "=/var/lib/"+state) || one("ProtectSystem") != "strict" {
			t.Errorf("%s keeps its files in %s, and may write to %s only", file, one("Environment"), one("StateDirectory"))
		}
		for _, name := range strings.Fields(one("CapabilityBoundingSet")) {
			if !strings.HasPrefix(name, "CAP_") {
				t.Errorf("%s: %s is no capability", file, name)
			}
		}
	}
}

// systemd itself accepts them, where it is installed.
func TestUnitsBySystemd(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	dir := t.TempDir()
	for _, file := range []string{"submitqueue-runner.service", "submitqueue.service"} {
		raw, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		there := strings.ReplaceAll(string(raw), "/usr/local/bin/submitqueue", "/bin/sh") // it looks whether the program is there
		if err := os.WriteFile(path, []byte(there), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(verify, "verify", path).CombinedOutput()
		if said := strings.TrimSpace(string(out)); err != nil || strings.Contains(said, file) {
			t.Errorf("%s: %v: %s", file, err, said)
		}
	}
}

// plist reads a property list: dict, array, string, integer, true and false.
func plist(d *xml.Decoder) (any, error) {
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch x := token.(type) {
		case xml.EndElement:
			return nil, nil
		case xml.StartElement:
			return plistValue(d, x)
		}
	}
}

// plistKey is a key of a dict.
type plistKey string

func plistValue(d *xml.Decoder, start xml.StartElement) (any, error) {
	switch name := start.Name.Local; name {
	case "plist":
		return plist(d)
	case "true", "false":
		return name == "true", d.Skip()
	case "string", "key", "integer":
		var text string
		err := d.DecodeElement(&text, &start)
		if name == "key" {
			return plistKey(text), err
		}
		return text, err
	case "array":
		var all []any
		for {
			v, err := plist(d)
			if err != nil || v == nil {
				return all, err
			}
			all = append(all, v)
		}
	case "dict":
		all := map[string]any{}
		for {
			k, err := plist(d)
			if err != nil || k == nil {
				return all, err
			}
			key, ok := k.(plistKey)
			v, err := plist(d)
			if _, isKey := v.(plistKey); err != nil || !ok || v == nil || isKey {
				return nil, errors.Join(err, fmt.Errorf("key %v has no value", k))
			}
			if _, twice := all[string(key)]; twice {
				return nil, fmt.Errorf("key %s is there twice", key)
			}
			all[string(key)] = v
		}
	default:
		return nil, fmt.Errorf("<%s> is nothing of a property list", name)
	}
}

// The property list of launchd starts what there is, with an absolute path, under the label
// that it is called by, and is not started again when it has been drained.
func TestPropertyList(t *testing.T) {
	const file = "com.submitqueue.runner.plist"
	raw, err := os.ReadFile(filepath.Join("../../deploy", file))
	if err != nil {
		t.Fatal(err)
	}
	v, err := plist(xml.NewDecoder(strings.NewReader(string(raw))))
	top, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Fatalf("%T: %v", v, err)
	}
	known := []string{"Label", "ProgramArguments", "EnvironmentVariables", "RunAtLoad", "KeepAlive", "ProcessType", "StandardErrorPath"} // launchd.plist(5)
	for key := range top {
		if !slices.Contains(known, key) {
			t.Errorf("%s is no key that this test knows", key)
		}
	}
	if top["Label"] != strings.TrimSuffix(file, ".plist") || top["RunAtLoad"] != true {
		t.Errorf("label %v, run at load %v", top["Label"], top["RunAtLoad"])
	}
	if alive, ok := top["KeepAlive"].(map[string]any); !ok || alive["SuccessfulExit"] != false {
		t.Errorf("KeepAlive is %v", top["KeepAlive"])
	}
	var args []string
	for _, a := range top["ProgramArguments"].([]any) {
		args = append(args, a.(string))
	}
	if len(args) < 2 || !filepath.IsAbs(args[0]) || filepath.Base(args[0]) != "submitqueue" || args[1] != "runner" {
		t.Fatalf("it starts %q", args)
	}
	commandLine(t, file, args[1:])
	env := top["EnvironmentVariables"].(map[string]any)
	if dir, ok := env["SUBMITQUEUE_RUNNER_DIR"].(string); !ok || !filepath.IsAbs(dir) || !strings.Contains(env["PATH"].(string), "/usr/bin") {
		t.Errorf("%v", env)
	}

	if lint, err := exec.LookPath("plutil"); err == nil {
		if out, err := exec.Command(lint, "-lint", filepath.Join("../../deploy", file)).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	// Broken units are found.
	for _, bad := range []string{"<plist><dict><key>Label</key></dict></plist>", "<plist><dict><key>a</key><key>b</key></dict>", "<plist><bool/></plist>", "<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>"} {
		if v, err := plist(xml.NewDecoder(strings.NewReader(bad))); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s is read as %v (%v)", bad, v, err)
		}
	}
}
