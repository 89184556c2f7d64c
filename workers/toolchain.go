package workers

import (
	"os"
	"path/filepath"
	"strings"
)

// toolchain is a variable that names where a toolchain is installed.
type toolchain struct {
	name string
	in   string // where it is in a user's home unless the variable says else; "": nowhere
}

// toolchains are the toolchains of the agent's user that steps see: compilers and SDKs that are
// installed in a home, or that are found by a variable alone. Without them rustup, say, has no
// toolchain in the home that a step has. None of the places holds credentials, as CARGO_HOME,
// GRADLE_USER_HOME and ~/.m2 do.
var toolchains = [...]toolchain{
	{name: "RUSTUP_HOME", in: ".rustup"}, {name: "RUSTUP_TOOLCHAIN"},
	{name: "JAVA_HOME"}, {name: "ANDROID_HOME"}, {name: "ANDROID_SDK_ROOT"}, {name: "ANDROID_NDK_HOME"},
	{name: "NVM_DIR", in: ".nvm"}, {name: "VOLTA_HOME", in: ".volta"}, {name: "FNM_DIR"},
	{name: "PYENV_ROOT", in: ".pyenv"}, {name: "RBENV_ROOT", in: ".rbenv"}, {name: "ASDF_DATA_DIR", in: ".asdf"}, {name: "MISE_DATA_DIR", in: ".local/share/mise"},
	{name: "DOTNET_ROOT"}, {name: "SDKMAN_DIR", in: ".sdkman"}, {name: "GHCUP_INSTALL_BASE_PREFIX"}, {name: "FLUTTER_ROOT"},
	{name: "DEVELOPER_DIR"}, {name: "SDKROOT"}, // Xcode
}

// toolchainsOf returns the variables of toolchains that are set in an environment, and
// those of toolchains that its home holds; for guests, only where anybody may read them.
func toolchainsOf(base []string, guests bool) map[string]string {
	set := map[string]string{}
	for _, pair := range base {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	out := map[string]string{}
	for _, t := range toolchains {
		where := set[t.name]
		if where == "" && t.in != "" && set["HOME"] != "" {
			where = filepath.Join(set["HOME"], t.in)
			if info, err := os.Stat(where); err != nil || !info.IsDir() {
				continue
			}
		}
		if where == "" || guests && filepath.IsAbs(where) && !public(where) {
			continue
		}
		out[t.name] = where
	}
	return out
}

// public reports whether anybody may look into a folder.
func public(dir string) bool {
	for first := true; ; first = false {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 || first && info.Mode().Perm()&0o004 == 0 {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}
