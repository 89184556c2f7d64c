package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Each case is a file that has a say in what a package's tasks do, and the
// packages whose hashes it must be in. b depends on a.
func TestWhatIsReadIsInTheHash(t *testing.T) {
	const lock9 = "lockfileVersion: '9.0'\n"
	for name, tt := range map[string]struct {
		files map[string]string
		links map[string]string
		edit  string // path, or path and the new content
		to    string
		want  string
	}{
		"what only the root installs, by a package that the root uses": {edit: "package-lock.json", want: "a b c",
			files: map[string]string{"package.json": `{"workspaces": ["packages/*"], "devDependencies": {"typescript": "5", "a": "*"}}`,
				"package-lock.json": `{"lockfileVersion": 3, "packages": {"node_modules/typescript": {"version": "5.0.0"}, "node_modules/a": {"link": true, "resolved": "packages/a"}}}`},
			to: `{"lockfileVersion": 3, "packages": {"node_modules/typescript": {"version": "5.0.1"}, "node_modules/a": {"link": true, "resolved": "packages/a"}}}`},
		"settings of pnpm, by a package that the root uses": {edit: "pnpm-workspace.yaml", want: "a b c",
			files: map[string]string{"package.json": `{"devDependencies": {"a": "workspace:*"}}`, "pnpm-workspace.yaml": "packages: [packages/*]\n"},
			to:    "packages: [packages/*]\noverrides: {x: '1'}\n"},
		"a catalog that only the root uses": {edit: "pnpm-workspace.yaml", want: "a b c",
			files: map[string]string{"package.json": `{"devDependencies": {"x": "catalog:"}}`, "pnpm-workspace.yaml": "packages: [packages/*]\ncatalog: {x: '1'}\n"},
			to:    "packages: [packages/*]\ncatalog: {x: '2'}\n"},
		"the second document of a lock file of pnpm": {edit: "pnpm-lock.yaml", want: "a b c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\n", "pnpm-lock.yaml": lock9 + "importers: {.: {}}\n---\n" + lock9 + "importers: {packages/c: {dependencies: {x: {specifier: '1', version: 1.0.0}}}}\npackages: {x@1.0.0: {resolution: {integrity: one}}}\nsnapshots: {x@1.0.0: {}}\n"},
			to:    lock9 + "importers: {.: {}}\n---\n" + lock9 + "importers: {packages/c: {dependencies: {x: {specifier: '1', version: 1.0.0}}}}\npackages: {x@1.0.0: {resolution: {integrity: two}}}\nsnapshots: {x@1.0.0: {}}\n"},
		"types that pnpm of old hoists": {edit: "pnpm-lock.yaml", want: "a b c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\n", "pnpm-lock.yaml": "lockfileVersion: 5.4\nimporters: {packages/c: {specifiers: {'@types/x': '1'}, devDependencies: {'@types/x': 1.0.0}}}\npackages: {/@types/x/1.0.0: {resolution: {integrity: one}}}\n"},
			to:    "lockfileVersion: 5.4\nimporters: {packages/c: {specifiers: {'@types/x': '1'}, devDependencies: {'@types/x': 1.0.0}}}\npackages: {/@types/x/1.0.0: {resolution: {integrity: two}}}\n"},
		"what the lock file of pnpm says of the root": {edit: "pnpm-lock.yaml", want: "a b c",
			files: map[string]string{"package.json": `{"devDependencies": {"x": "^1"}}`, "pnpm-workspace.yaml": "packages: [packages/*]\n",
				"pnpm-lock.yaml": lock9 + "importers: {.: {devDependencies: {x: {specifier: ^1, version: 1.0.0}}}}\npackages: {x@1.0.0: {}}\nsnapshots: {x@1.0.0: {}}\n"},
			to: lock9 + "importers: {.: {devDependencies: {x: {specifier: ^0, version: 1.0.0}}}}\npackages: {x@1.0.0: {}}\nsnapshots: {x@1.0.0: {}}\n"},
		"what the lock file of npm says of the root": {edit: "package-lock.json", want: "a b c",
			files: map[string]string{"package-lock.json": `{"lockfileVersion": 3, "packages": {"": {"workspaces": ["packages/*"]}}}`},
			to:    `{"lockfileVersion": 3, "packages": {"": {"workspaces": ["other/*"]}}}`},
		"what the lock file of yarn says of the root": {edit: "yarn.lock", want: "a b c",
			files: map[string]string{"yarn.lock": "__metadata:\n  version: 8\n\"root@workspace:.\":\n  resolution: \"root@workspace:.\"\n  dependencies: {x: ^1}\n"},
			to:    "__metadata:\n  version: 8\n\"root@workspace:.\":\n  resolution: \"root@workspace:.\"\n  dependencies: {x: ^2}\n"},
		"a link of npm to a package": {edit: "package-lock.json", want: "c",
			files: map[string]string{"package-lock.json": `{"lockfileVersion": 3, "packages": {"node_modules/c": {"link": true, "resolved": "packages/c"}}}`},
			to:    `{"lockfileVersion": 3, "packages": {}}`},
		"a link of npm of old": {edit: "package-lock.json", want: "c",
			files: map[string]string{"package-lock.json": `{"lockfileVersion": 1, "dependencies": {"c": {"version": "file:packages/c"}}}`},
			to:    `{"lockfileVersion": 1, "dependencies": {}}`},
		"a package twice in the lock file of pnpm": {edit: "pnpm-lock.yaml", want: "c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\n", "pnpm-lock.yaml": lock9 + "importers: {./packages/c: {one: 1}, packages/c: {two: 1}}\n"},
			to:    lock9 + "importers: {./packages/c: {one: 2}, packages/c: {two: 1}}\n"},
		"a catalog in the lock file of pnpm": {edit: "pnpm-lock.yaml", want: "c",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "dependencies": {"x": "catalog:"}}`, "pnpm-workspace.yaml": "packages: [packages/*]\ncatalog: {x: ^1}\n",
				"pnpm-lock.yaml": lock9 + "catalogs: {default: {x: {specifier: ^1, version: 1.0.0}}}\n"},
			to: lock9 + "catalogs: {default: {x: {specifier: ^2, version: 1.0.0}}}\n"},
		"a catalog in the lock file of pnpm that nobody uses": {edit: "pnpm-lock.yaml", want: "a b c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\n", "pnpm-lock.yaml": lock9 + "catalogs: {old: {x: {specifier: ^1, version: 1.0.0}}}\n"},
			to:    lock9 + "catalogs: {old: {x: {specifier: ^2, version: 1.0.0}}}\n"},
		"an entry of the lock file of pnpm that is no map": {edit: "pnpm-lock.yaml", want: "a b c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\n", "pnpm-lock.yaml": lock9 + "packages: {x@1.0.0: {}}\nsnapshots: {x@1.0.0: {}}\n"},
			to:    lock9 + "packages: {x@1.0.0: {}}\nsnapshots: {x@1.0.0: 7}\n"},
		"a catalog that pnpm refuses": {edit: "pnpm-workspace.yaml", want: "a b c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\ncatalog: {x: '5'}\n"},
			to:    "packages: [packages/*]\ncatalog: {x: 5}\n"},
		"a catalog that is there twice, which pnpm refuses": {edit: "pnpm-workspace.yaml", want: "a b c",
			files: map[string]string{"pnpm-workspace.yaml": "packages: [packages/*]\ncatalog: {x: '5'}\n"},
			to:    "packages: [packages/*]\ncatalog: {x: '5'}\ncatalogs: {default: {x: '5'}}\n"},
		"a path of several strings": {edit: "packages/a/data.json", want: "a b c",
			files: map[string]string{"packages/c/index.js": "fs.readFileSync(path.join(__dirname, '..', \"a\",\n  'data.json'))", "packages/a/data.json": "1"}},
		"a path of several strings to a file that no package owns": {edit: "assets/x.txt", want: "c",
			files: map[string]string{"packages/c/src/index.js": "path.resolve(__dirname, '../../..', 'assets', '*.txt')", "assets/x.txt": ""}},
		"a program of the workspace that a script calls": {edit: "packages/a/x.js", want: "a b c",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"test": "acme-check src"}}`, "packages/a/package.json": `{"name": "a", "bin": {"acme-check": "x.js"}}`, "packages/a/x.js": ""}},
		"a program of the workspace with its package's name": {edit: "packages/a/x.js", want: "a b c",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"test": "npx a"}}`, "packages/a/package.json": `{"name": "a", "bin": "x.js"}`, "packages/a/x.js": ""}},
		"a program that pnpm installs for nobody else": {edit: "packages/a/x.js", want: "a b",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"test": "npx a"}}`, "packages/a/package.json": `{"name": "a", "bin": "x.js"}`, "packages/a/x.js": "", "pnpm-workspace.yaml": "packages: [packages/*]\n"}},
		"a package of which a script runs a task": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"test": "pnpm --filter=a... build && vitest"}}`}},
		"a package of which a script of the root runs a task, by one that reads its version": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"packages/c/bin/x.js": "import { version } from '../../package.json'", "package.json": `{"workspaces": ["packages/*"], "scripts": {"start": "pnpm --filter=a dev"}}`}},
		"a package that a test has served": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/playwright.config.ts": "export default { webServer: { command: 'npm run dev -w a' } }"}},
		"a package of which a list of words runs a task": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/setup.ts": "spawn('pnpm', ['--filter', 'a', 'dev'])"}},
		"a project that Nx runs": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": "{}", "packages/c/package.json": `{"name": "c", "scripts": {"e2e": "nx run-many -t serve -p a"}}`}},
		"a project that a list of words has Nx run": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": "{}", "packages/c/setup.ts": "spawn('npx', ['nx', 'serve', 'a'])"}},
		"a word behind another program": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"packages/c/index.js": "// nginx serves a\nrun('npx nx build c'); f('a')"}},
		"a word that is the name of a package": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"test": "wc -l a"}}`}},
		"what the settings of the root import": {edit: "packages/a/rules.js", want: "a b c",
			files: map[string]string{"eslint.config.js": "import rules from './packages/a/rules.js'", "packages/a/rules.js": ""}},
		"what the settings of the root import by its name": {edit: "packages/a/rules.js", want: "a b c",
			files: map[string]string{".eslintrc.json": `{"extends": ["a/rules"]}`, "packages/a/rules.js": ""}},
		"a preset of the root": {edit: "packages/a/preset.js", want: "a b c",
			files: map[string]string{"babel.config.js": "module.exports = {presets: ['x', './packages/a/preset.js']}", "packages/a/preset.js": ""}},
		"what the settings of the root say of a folder": {edit: "packages/a/x.js", want: "a b",
			files: map[string]string{"jest.config.js": "module.exports = {projects: ['./packages/a']}", "packages/a/x.js": ""}},
		"what a program beside the root's settings imports": {edit: "packages/a/x.js", want: "a b",
			files: map[string]string{"start.js": "require('./packages/a/x.js')", "packages/a/x.js": ""}},
		"settings of the package around": {edit: "packages/c/.eslintrc.json", want: "c in",
			files: map[string]string{"package.json": `{"workspaces": ["packages/*", "packages/c/in"]}`, "packages/c/in/package.json": `{"name": "in"}`, "packages/c/.eslintrc.json": "{}"}},
		"no other file of the package around": {edit: "packages/c/index.js", want: "c",
			files: map[string]string{"package.json": `{"workspaces": ["packages/*", "packages/c/in"]}`, "packages/c/in/package.json": `{"name": "in"}`}},
		"inputs of Nx for a task of one package": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"knip": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "packages/b/package.json": `{"name": "b", "devDependencies": {}, "scripts": {"knip": "knip"}}`}},
		"inputs of Nx for a task that only a project.json has": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"knip": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "packages/b/project.json": `{"targets": {"knip": {}}}`}},
		"inputs of Nx for an executor": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"x:knip": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "packages/b/project.json": `{"targets": {"other": {"executor": "x:knip"}}}`}},
		"inputs of Nx for a task of the root, for which one of a package waits": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"gen": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "packages/b/project.json": `{"targets": {"build": {"dependsOn": ["top:gen"]}}}`}},
		"inputs of Nx for a task of the root, for which all wait": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"gen": {"inputs": ["{workspaceRoot}/**/*"]}, "build": {"dependsOn": [{"projects": ["top"], "target": "gen"}]}}}`}},
		"inputs of Nx for a task of the root that a script runs": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"gen": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "packages/c/package.json": `{"name": "c", "scripts": {"build": "nx run top:gen:prod && tsc"}}`}},
		"inputs of Nx for a task of the root that an option names": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"targetDefaults": {"gen": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "packages/c/package.json": `{"name": "c", "scripts": {"build": "nx run-many --targets=lint,gen -p top"}}`}},
		"inputs of Nx for a task that a plugin may make": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"plugins": ["x"], "targetDefaults": {"knip": {"inputs": ["{workspaceRoot}/**/*"]}}}`}},
		"inputs of Nx for a task that a plugin of a preset may make": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": `{"extends": "x/nx.json", "targetDefaults": {"knip": {"inputs": ["{workspaceRoot}/**/*"]}}}`}},
		"inputs of Nx for a task that no package has": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"nx.json": `{"targetDefaults": {"knip": {"inputs": ["{workspaceRoot}/**/*"]}}}`, "package.json": `{"workspaces": ["packages/*"], "scripts": {"knip": "knip"}}`}},
		"a part of a file as an input of Nx": {edit: "config/x.txt", want: "c",
			files: map[string]string{"nx.json": "{}", "packages/c/project.json": `{"name": "c", "targets": {"build": {"inputs": [{"json": "{workspaceRoot}/config/x.txt", "fields": ["a"]}]}}}`, "config/x.txt": ""}},
		"a path behind a tilde": {edit: "packages/a/src/x.ts", want: "a b c",
			files: map[string]string{"packages/c/tsconfig.json": `{"compilerOptions": {"paths": {"~/*": ["../a/src/*"]}}}`, "packages/c/index.ts": "import x from '~/x'", "packages/a/src/x.ts": ""}},
		"a path from the folder of the configuration": {edit: "packages/a/src/x.ts", want: "a b c",
			files: map[string]string{"tsconfig.base.json": `{"compilerOptions": {"paths": {"~z/*": ["${configDir}/../a/src/*"]}}}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.base.json"}`,
				"packages/c/index.ts": "import x from '~z/x'", "packages/a/src/x.ts": ""}},
		"files from the folder of the configuration": {edit: "packages/a/src/x.ts", want: "a b c",
			files: map[string]string{"tsconfig.json": `{"include": ["${configDir}/../a/src"]}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json"}`, "packages/a/src/x.ts": ""}},
		"files of a configuration that is extended": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"tsconfig.json": `{"include": ["packages/*"]}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json", "files": ["x.ts"]}`}},
		"files of a configuration that is extended, beside none": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"tsconfig.json": `{"include": ["packages/*"]}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json", "include": null}`}},
		"files of a configuration that is extended, hidden by others": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"tsconfig.json": `{"include": ["packages/*"]}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json", "include": ["src"]}`}},
		"the same, by one between": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"tsconfig.json": `{"include": ["packages/*"]}`, "packages/c/tsconfig.json": `{"extends": "./tsconfig.lib.json"}`, "packages/c/tsconfig.lib.json": `{"extends": "../../tsconfig.json", "include": []}`}},
		"projects to which a configuration that is extended refers": {edit: "packages/a/index.js", want: "a b",
			files: map[string]string{"tsconfig.json": `{"references": [{"path": "packages/a"}]}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json"}`}},
		"patterns of paths in a configuration that is extended": {edit: "packages/a/index.js", want: "@t/a",
			files: map[string]string{"packages/a/package.json": `{"name": "@t/a"}`, "tsconfig.json": `{"compilerOptions": {"paths": {"@t/a": ["./packages/a"]}}}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json"}`}},
		"the source of JSX, which is one of these patterns": {edit: "packages/a/index.js", want: "@t/a c",
			files: map[string]string{"packages/a/package.json": `{"name": "@t/a"}`, "tsconfig.json": `{"compilerOptions": {"jsxImportSource": "@t/a", "paths": {"@t/a": ["./packages/a"]}}}`, "packages/c/tsconfig.json": `{"extends": "../../tsconfig.json"}`}},
		"what a template includes": {edit: "packages/a/x.njk", want: "a b c",
			files: map[string]string{"packages/c/page.njk": `{% include "../a/x.njk" %}`, "packages/a/x.njk": ""}},
		"a folder behind a link in the package": {edit: "packages/a/src/x.js", want: "a b c", links: map[string]string{"packages/c/shared": "../a/src"},
			files: map[string]string{"packages/a/src/x.js": ""}},
		"a package whose dependent's folder is behind a link": {edit: "packages/a/x.js", want: "a b c", links: map[string]string{"packages/c/shared": "../b"},
			files: map[string]string{"packages/a/x.js": ""}},
		"a path through a link": {edit: "packages/a/x.js", want: "a b c", links: map[string]string{"alias": "packages/a"},
			files: map[string]string{"packages/c/index.js": "import '../../alias/x'", "packages/a/x.js": ""}},
		"a link that leads through another": {edit: "common/deep/x.js", want: "c", links: map[string]string{"packages/c/x.js": "../../way/deep/x.js", "way": "common"},
			files: map[string]string{"common/deep/x.js": ""}},
		"a file that TypeScript finds under .js": {edit: "scripts/x.ts", want: "c",
			files: map[string]string{"packages/c/index.ts": "import '../../scripts/x.js'", "scripts/x.ts": ""}},
		"a file beside a file that no package owns": {edit: "scripts/lib/y.js", want: "c",
			files: map[string]string{"packages/c/index.js": "import '../../scripts/x.js'", "scripts/x.js": "import './lib/y'", "scripts/lib/y.js": ""}},
		"a package that a file which no package owns imports": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"build": "node ../../scripts/x.js"}}`, "scripts/x.js": "import {y} from 'a'"}},
		"a path of a file that no package owns": {edit: "tools/y.js", want: "c",
			files: map[string]string{"packages/c/index.js": "import '../../scripts/x.js'", "scripts/x.js": "import '../tools/y'", "tools/y.js": ""}},
		"a task of the root": {edit: "scripts/gen.js", want: "a b c",
			files: map[string]string{"turbo.json": `{"tasks": {"//#gen": {}, "build": {"dependsOn": ["//#gen"]}}}`, "scripts/gen.js": ""}},
		"globs of other packages": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/tailwind.config.js": `module.exports = {content: ["../../packages/**/*.tsx"]}`}},
		"globs of siblings": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/tailwind.config.js": `module.exports = {content: ["../*/src/**/*.tsx"]}`}},
		"extends in JSON": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/.eslintrc.json": `{"extends": "a"}`}},
		"extends of a list in JSON": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"packages/c/.eslintrc.json": `{"extends": ["a"]}`}},
		"a reference of a schema": {edit: "schemas/x.json", want: "c",
			files: map[string]string{"packages/c/src/y.json": `{"$ref": "../../../schemas/x.json"}`, "schemas/x.json": "{}"}},
		"a shell script's": {edit: "scripts/x.sh", want: "c",
			files: map[string]string{"packages/c/bin/test.sh": ". ../../scripts/x.sh\n", "scripts/x.sh": ""}},
		"settings beside the root in YAML": {edit: "babel.config.yaml", want: "a b c", files: map[string]string{"babel.config.yaml": ""}},
		"settings of bun":                  {edit: "bunfig.toml", want: "a b c", files: map[string]string{"bunfig.toml": ""}},
		"what a command of Nx names": {edit: "tools/x.js", want: "c",
			files: map[string]string{"nx.json": "{}", "packages/c/project.json": `{"name": "c", "targets": {"build": {"executor": "nx:run-commands", "options": {"command": "node tools/x.js --quick"}}}}`, "tools/x.js": ""}},
		"what an option of Nx names": {edit: "packages/a/index.js", want: "a b c",
			files: map[string]string{"nx.json": "{}", "packages/c/project.json": `{"name": "c", "targets": {"build": {"executor": "@nx/js:tsc", "options": {"assets": [{"glob": "*", "input": "packages/a"}]}}}}`}},
		"inputs of Nx that leave the project": {edit: "assets/x", want: "c",
			files: map[string]string{"nx.json": "{}", "packages/c/project.json": `{"name": "c", "targets": {"build": {"inputs": ["{projectRoot}/../../assets/**"]}}}`, "assets/x": ""}},
		"the tool that a script calls by its name": {edit: "package-lock.json", want: "b c",
			files: map[string]string{"packages/c/package.json": `{"name": "c", "scripts": {"test": "CI=1 tsc -p . && true"}}`, "packages/b/package.json": `{"name": "b", "devDependencies": {"typescript": "5"}}`,
				"package-lock.json": `{"lockfileVersion": 3, "packages": {"node_modules/typescript": {"version": "5.0.0", "bin": {"tsc": "bin/tsc"}}}}`},
			to: `{"lockfileVersion": 3, "packages": {"node_modules/typescript": {"version": "5.0.1", "bin": {"tsc": "bin/tsc"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			tree := plain(tt.files)
			if content, ok := tt.files["packages/b/package.json"]; !ok || !strings.Contains(content, "devDependencies") {
				tree = tree.With("packages/b/package.json", `{"name": "b", "dependencies": {"a": "workspace:*"}}`)
			}
			for path, goal := range tt.links {
				tree = tree.WithMode(path, conflict.ModeLink, goal)
			}
			to := tt.to
			if to == "" {
				to = tree.Content(tt.edit) + "\n\n"
			}
			got := slices.DeleteFunc(mustFootprint(t, tree, tree.With(tt.edit, to)).Affected, func(target string) bool {
				return target == config.TargetUnowned // others may read the file, too
			})
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("affected %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("submodules", func(t *testing.T) {
		for path, want := range map[string]string{"packages/sub": "a b c", "vendor/sub": "a b c", "packages/c/sub": "c"} {
			tree := plain(map[string]string{"packages/c/package.json": `{"name": "c", "dependencies": {"sub": "*"}}`})
			one, other := tree.WithMode(path, conflict.ModeSubmodule, "1"), tree.WithMode(path, conflict.ModeSubmodule, "2")
			if got := affected(t, one, other); got != want {
				t.Errorf("%s: affected %q, want %q", path, got, want)
			}
		}
	})
	t.Run("a name like an option", func(t *testing.T) {
		if got := targets(t, plain(map[string]string{"packages/c/package.json": `{"name": "-rf"}`})); got != "./packages/c a b" {
			t.Error(got)
		}
	})
}

// pnpm 11 begins its lock file with a document about itself. The one that says
// what the packages use is the last, and it is still taken apart.
func TestALockFileOfPnpmWithTwoDocuments(t *testing.T) {
	tree, name := locked(t, "pnpm-v9.yaml")
	content := "---\nlockfileVersion: '9.0'\nimporters:\n  .:\n    packageManagerDependencies: {pnpm: {specifier: 11.0.3, version: 11.0.3}}\n---\n" + tree.Content(name)
	tree = tree.With(name, content)
	for mark, want := range map[string]string{"chalk": "@t/a", "ms": "@t/a @t/b"} {
		if got := affected(t, tree, tree.With(name, bump(t, content, mark))); got != want {
			t.Errorf("%s: affected %q, want %q", mark, got, want)
		}
	}
	if got := affected(t, tree, tree.With(name, strings.ReplaceAll(content, "11.0.3", "11.0.4"))); got != "@t/a @t/b @t/c" {
		t.Errorf("pnpm itself: affected %q", got)
	}
}
